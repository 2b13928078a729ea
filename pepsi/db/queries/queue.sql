-- name: queue_page
-- The next messages in the order of their ids. Parameters that are null filter nothing.
SELECT w.workqueue_id, w.stage, w.status, w.mail_from, w.subject,
       to_char(w.received_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
       CASE WHEN %(state_limit)s::integer IS NULL THEN w.state::text ELSE left(w.state::text, %(state_limit)s) END
FROM pepsi.workqueue w
WHERE w.workqueue_id > %(after)s
  AND (%(id)s::bigint IS NULL OR w.workqueue_id = %(id)s)
  AND (%(stage)s::text IS NULL OR w.stage = %(stage)s)
  AND (%(status)s::text IS NULL OR w.status = %(status)s)
ORDER BY w.workqueue_id
LIMIT %(limit)s

-- name: queue_delete
-- Delete a message whatever its status, and say that rows were moved by hand.
WITH gone AS (
    DELETE FROM pepsi.workqueue w WHERE w.workqueue_id = %(id)s RETURNING w.stage, w.status
)
SELECT g.stage, g.status, pg_notify('workqueue', ''), pg_notify('workqueue_repair', '') FROM gone g

-- name: queue_set_stage
-- Let a message be pending at a stage whatever it was. What the stages remember of it stays.
WITH former AS (
    SELECT w.workqueue_id, w.stage, w.status FROM pepsi.workqueue w WHERE w.workqueue_id = %(id)s FOR UPDATE
), moved AS (
    UPDATE pepsi.workqueue w
    SET stage = %(stage)s, status = 'pending', claim = NULL, timeout = NULL
    FROM former f WHERE w.workqueue_id = f.workqueue_id
    RETURNING f.stage, f.status
)
SELECT m.stage, m.status, pg_notify('workqueue', ''), pg_notify('workqueue_repair', '') FROM moved m

-- name: queue_ids
-- The ids of messages of one status, as many as are worth to remember. By ids and not by what the indexes are ordered
-- by: each is looked at once, whatever becomes of those that were released meanwhile.
SELECT coalesce(array_agg(i.workqueue_id ORDER BY i.workqueue_id), '{}')
FROM (SELECT w.workqueue_id FROM pepsi.workqueue w
      WHERE w.status = %(status)s AND w.workqueue_id > %(after)s
      ORDER BY w.workqueue_id
      LIMIT %(limit)s) i

-- name: queue_release
-- Let messages be pending that have still the status they were found in, and say so if there are any. It waits for
-- nobody, and holds its locks for a moment only.
WITH held AS (
    SELECT w.workqueue_id, w.status = 'paused' AND w.timeout IS NULL AS parked
    FROM pepsi.workqueue w
    WHERE w.workqueue_id = ANY (%(ids)s::bigint[]) AND w.status = %(status)s
    FOR UPDATE SKIP LOCKED
), moved AS (
    UPDATE pepsi.workqueue w
    SET status = 'pending', claim = NULL, timeout = NULL
    FROM held h WHERE w.workqueue_id = h.workqueue_id
    RETURNING h.parked
), counted AS (
    SELECT count(*) AS released, count(*) FILTER (WHERE m.parked) AS parked FROM moved m
), found AS (
    SELECT count(*) AS number FROM pepsi.workqueue w
    WHERE w.workqueue_id = ANY (%(ids)s::bigint[]) AND w.status = %(status)s
)
SELECT c.released, c.parked, f.number - c.released,
       CASE WHEN c.released > 0 THEN pg_notify('workqueue', '') END,
       CASE WHEN c.released > 0 THEN pg_notify('workqueue_repair', '') END
FROM counted c, found f

-- name: queue_forget_nonces
-- Delete nonces that prove nothing any more. It begins where the last one ended: what was deleted stands in the index
-- for a while, and would be walked again each time.
WITH expired AS (
    SELECT n.nonce FROM pepsi.origin_nonce n
    WHERE n.expires_at >= %(since)s::timestamptz AND n.expires_at <= now()
    ORDER BY n.expires_at LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM pepsi.origin_nonce n USING expired e WHERE n.nonce = e.nonce RETURNING n.expires_at
)
SELECT count(*), max(g.expires_at)::text FROM gone g

-- name: queue_forget_addresses
-- Delete addresses of hosts past their time to live, beginning where the last one ended.
WITH expired AS (
    SELECT d.host, d.address FROM pepsi.dns_address d
    WHERE d.expires_at >= %(since)s::timestamptz AND d.expires_at <= now()
    ORDER BY d.expires_at LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM pepsi.dns_address d USING expired e
    WHERE d.host = e.host AND d.address = e.address
    RETURNING d.expires_at
)
SELECT count(*), max(g.expires_at)::text FROM gone g
