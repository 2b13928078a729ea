-- name: flush_statistics
-- Add what a dispatcher has counted; a flush that was written before is not counted again.
WITH fresh AS (
    UPDATE pepsi.dispatch_stats
    SET stages_executed = stages_executed + %(passes)s,
        messages_failed = messages_failed + %(failed)s,
        flush_epoch = %(epoch)s,
        flush_number = %(number)s
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
