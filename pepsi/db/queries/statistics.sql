-- name: flush_statistics
-- Add what a dispatcher has counted; a flush that was written before is not counted again. How many messages came and
-- went the dispatcher does not see: the server's own counters of the table tell, which lag a little, and begin anew from
-- zero when somebody resets them or the server crashes.
WITH fresh AS (
    UPDATE pepsi.dispatch_stats
    SET stages_executed = stages_executed + %(passes)s,
        messages_failed = messages_failed + %(failed)s,
        messages_in = messages_in + c.inserted - CASE WHEN c.inserted < rows_inserted THEN 0 ELSE rows_inserted END,
        messages_finished = messages_finished + c.deleted
                            - CASE WHEN c.deleted < rows_deleted THEN 0 ELSE rows_deleted END,
        rows_inserted = c.inserted,
        rows_deleted = c.deleted,
        flush_epoch = %(epoch)s,
        flush_number = %(number)s
    FROM (
        SELECT pg_stat_get_tuples_inserted(oid) AS inserted, pg_stat_get_tuples_deleted(oid) AS deleted
        FROM (SELECT 'pepsi.workqueue'::regclass::oid AS oid) t
    ) c
    WHERE (flush_epoch, flush_number) < (%(epoch)s, %(number)s)
    RETURNING 1
)
INSERT INTO pepsi.stage_stats AS s (stage, messages, failures, strikes, crashes, timeouts, requeues, microseconds)
SELECT i.stage, i.messages, i.failures, i.strikes, i.crashes, i.timeouts, i.requeues, i.microseconds
FROM jsonb_to_recordset(%(stages)s::jsonb)
    AS i (stage text, messages bigint, failures bigint, strikes bigint, crashes bigint, timeouts bigint,
          requeues bigint, microseconds bigint)
WHERE EXISTS (SELECT FROM fresh)
ON CONFLICT (stage) DO UPDATE
SET messages = s.messages + excluded.messages,
    failures = s.failures + excluded.failures,
    strikes = s.strikes + excluded.strikes,
    crashes = s.crashes + excluded.crashes,
    timeouts = s.timeouts + excluded.timeouts,
    requeues = s.requeues + excluded.requeues,
    microseconds = s.microseconds + excluded.microseconds

-- name: sweep_bodies
-- Delete bodies that no row refers to, a bounded number at once; returns how many.
SELECT pepsi.workqueue_body_gc(%(limit)s)
