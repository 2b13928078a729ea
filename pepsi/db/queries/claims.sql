-- name: claim_oldest
-- Turn the oldest pending rows of each stage to running, in the order in which they are to be handed out.
SELECT workqueue_id, stage, sender, strikes, interrupted
FROM pepsi.workqueue_claim(%(claim)s, %(stages)s::text[], %(capacities)s::integer[], %(floors)s::bigint[])

-- name: claim_fair
-- Turn pending rows of each stage to running in the fair order. Rows without an id tell which senders were looked at.
SELECT workqueue_id, stage, sender, strikes, interrupted, last, complete, lowest
FROM pepsi.workqueue_claim_fair(
    %(claim)s, %(stages)s::text[], %(capacities)s::integer[], %(fifo)s::integer[],
    %(averages)s::double precision[], %(afters)s::text[], %(floors)s::bigint[], %(sender_stages)s::integer[],
    %(sender_keys)s::text[], %(leads)s::double precision[], %(sender_floors)s::bigint[])

-- name: settle
-- Write what the dispatcher decided about rows that it has claimed; a row that moved on meanwhile is not hit. Steps over
-- rows that somebody else has locked, so that one of them does not hold up the others, and returns the ids of these. It
-- asks for a claim and not for the status, which is the same: the index of running rows would be walked as a whole.
WITH item AS MATERIALIZED (
    SELECT i.* FROM jsonb_to_recordset(%(items)s::jsonb)
        AS i (workqueue_id bigint, claim bigint, status text, delay double precision, patch jsonb)
), free AS MATERIALIZED (
    SELECT w.workqueue_id FROM pepsi.workqueue w
    WHERE w.workqueue_id = ANY (%(ids)s::bigint[]) AND w.claim IS NOT NULL
    FOR UPDATE SKIP LOCKED
), written AS (
    UPDATE pepsi.workqueue w
    SET status = i.status,
        claim = NULL,
        timeout = CASE WHEN i.status = 'paused' THEN now() + make_interval(secs => i.delay) END,
        state = pepsi.state_patch(w.state, i.patch)
    FROM item i
    WHERE w.workqueue_id = ANY (ARRAY(SELECT free.workqueue_id FROM free))
      AND w.workqueue_id = i.workqueue_id AND w.claim = i.claim
)
SELECT w.workqueue_id
FROM pepsi.workqueue w JOIN item i ON i.workqueue_id = w.workqueue_id AND i.claim = w.claim
WHERE w.workqueue_id = ANY (%(ids)s::bigint[])
  AND NOT EXISTS (SELECT FROM free WHERE free.workqueue_id = w.workqueue_id)

-- name: next_due
-- In how many seconds the next paused row is due, by the clock of the database: 0 when it is overdue, a century at most.
-- The bounds keep it from failing for any time that a row can hold; from an infinite one nothing can be subtracted.
SELECT extract(epoch FROM greatest(now(), least(w.timeout, now() + interval '36525 days')) - now())::double precision
FROM pepsi.workqueue w
WHERE w.status = 'paused' AND w.timeout IS NOT NULL
ORDER BY w.timeout
LIMIT 1

-- name: flip_due
-- Turn due rows to pending, the oldest due first.
UPDATE pepsi.workqueue w
SET status = 'pending', timeout = NULL
WHERE w.workqueue_id = ANY (ARRAY(
    SELECT p.workqueue_id FROM pepsi.workqueue p
    WHERE p.status = 'paused' AND p.timeout <= now()
    ORDER BY p.timeout
    LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED))
RETURNING w.workqueue_id

-- name: running_rows
-- Which rows are running, whoever runs them.
SELECT w.workqueue_id, w.claim, w.stage, pepsi.state_count(w.state, 'strikes')
FROM pepsi.workqueue w
WHERE w.status = 'running'
ORDER BY w.claim
LIMIT 10000

-- name: unknown_stages
-- How many rows wait at each stage that is not among the configured ones; counts no further than is of interest.
WITH RECURSIVE waiting (stage) AS (
    (SELECT w.stage FROM pepsi.workqueue w WHERE w.status = 'pending' ORDER BY w.stage LIMIT 1)
    UNION ALL
    SELECT (SELECT w.stage FROM pepsi.workqueue w WHERE w.status = 'pending' AND w.stage > waiting.stage
            ORDER BY w.stage LIMIT 1)
    FROM waiting WHERE waiting.stage IS NOT NULL
)
SELECT s.stage, (SELECT count(*) FROM (
    SELECT FROM pepsi.workqueue w WHERE w.status = 'pending' AND w.stage = s.stage LIMIT 100000) c)
FROM waiting s
WHERE s.stage IS NOT NULL AND s.stage <> ALL (%(stages)s::text[])
LIMIT 100
