-- name: same_backend
-- The server's process id: another answer to the second question means that a pooler stands between.
SELECT pg_backend_pid()

-- name: try_lock
-- Take the dispatcher's lock, which the session holds until it ends.
SELECT pg_try_advisory_lock(%(class)s, %(object)s)

-- name: lock_holder
-- Who holds the dispatcher's lock, as far as this role may see.
SELECT a.pid, coalesce(host(a.client_addr), 'a local socket'), a.backend_start::text, coalesce(a.application_name, '')
FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2
  AND l.classid = %(class)s AND l.objid = %(object)s
  AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())

-- name: own_session
-- The server's end of this session, by which it can be told from all others, past ones too.
SELECT a.pid, a.backend_start::text FROM pg_stat_activity a WHERE a.pid = pg_backend_pid()

-- name: end_former_session
-- End the session that is given, if it still holds the dispatcher's lock.
SELECT pg_terminate_backend(a.pid)
FROM pg_stat_activity a JOIN pg_locks l ON l.pid = a.pid
WHERE a.pid = %(pid)s AND a.backend_start = %(since)s::timestamptz
  AND l.locktype = 'advisory' AND l.granted AND l.objsubid = 2 AND l.classid = %(class)s AND l.objid = %(object)s

-- name: raise_epoch
-- Begin a new epoch, if the lock is held by this very session. This commit waits for the disk whatever the session does:
-- an epoch must never come twice.
UPDATE pepsi.dispatcher_epoch
SET epoch = epoch + 1, started_at = now()
WHERE set_config('synchronous_commit', 'on', true) = 'on'
  AND EXISTS (SELECT FROM pg_locks l
              WHERE l.pid = pg_backend_pid() AND l.locktype = 'advisory' AND l.granted AND l.objsubid = 2
                AND l.classid = %(class)s AND l.objid = %(object)s)
RETURNING epoch

-- name: present_epoch
-- Whose turn it is by the database.
SELECT epoch FROM pepsi.dispatcher_epoch

-- name: reassert_claims
-- Claim once more what a crash of the server un-did; what its worker has moved on meanwhile stays where it is.
UPDATE pepsi.workqueue w
SET status = 'running', claim = h.claim
FROM unnest(%(ids)s::bigint[], %(claims)s::bigint[], %(stages)s::text[]) AS h (workqueue_id, claim, stage)
WHERE w.workqueue_id = h.workqueue_id AND w.status = 'pending' AND w.stage = h.stage
RETURNING w.workqueue_id

-- name: return_strangers
-- Give back rows that run under this epoch, but under no claim that is held. What somebody else has locked stays, and is
-- found as a stray later.
UPDATE pepsi.workqueue w
SET status = 'pending', claim = NULL
WHERE w.workqueue_id = ANY (ARRAY(
    SELECT s.workqueue_id FROM pepsi.workqueue s
    WHERE s.status = 'running' AND s.claim >= %(first)s AND s.claim < %(beyond)s
      AND NOT EXISTS (SELECT FROM unnest(%(ids)s::bigint[], %(claims)s::bigint[]) AS h (workqueue_id, claim)
                      WHERE h.workqueue_id = s.workqueue_id AND h.claim = s.claim)
    FOR UPDATE SKIP LOCKED))
RETURNING w.workqueue_id

-- name: former_workers
-- Database sessions of workers that a former dispatcher started.
SELECT a.pid, a.application_name
FROM pg_stat_activity a, pepsi.dispatcher_epoch e
WHERE a.datname = current_database() AND a.application_name LIKE 'pepsi-stage-%%' AND a.backend_start < e.started_at

-- name: end_former_workers
-- End these sessions, so that nothing that a worker of a former dispatcher still does can be committed.
SELECT a.pid, pg_terminate_backend(a.pid)
FROM pg_stat_activity a, pepsi.dispatcher_epoch e
WHERE a.datname = current_database() AND a.application_name LIKE 'pepsi-stage-%%' AND a.backend_start < e.started_at

-- name: return_former
-- Give back rows that a former dispatcher left running, and count the interruption; steps over what is locked.
UPDATE pepsi.workqueue w
SET status = 'pending', claim = NULL,
    state = w.state || jsonb_build_object('interrupted', pepsi.state_count(w.state, 'interrupted') + 1)
WHERE w.workqueue_id = ANY (ARRAY(
    SELECT f.workqueue_id FROM pepsi.workqueue f
    WHERE f.status = 'running' AND f.claim < %(first)s
    ORDER BY f.claim LIMIT 1000
    FOR UPDATE SKIP LOCKED))
RETURNING w.workqueue_id

-- name: former_left
-- Whether rows of a former dispatcher are left running.
SELECT EXISTS (SELECT FROM pepsi.workqueue w WHERE w.status = 'running' AND w.claim < %(first)s)
