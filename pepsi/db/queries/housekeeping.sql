-- name: oldest_snapshot
-- How many rows of the queue are dead and alive, and who holds on to the oldest state of this database, if anybody does:
-- what was deleted since then cannot be cleared away. A role that may not look at other people's sessions learns since
-- how many transactions, but not since when.
WITH holder AS (
    -- Another database's sessions hold back nothing here; the feedback of a standby, which is of no database, does.
    SELECT CASE WHEN a.datid IS NULL THEN 'standby' ELSE 'session' END AS kind, a.pid::text AS name,
           a.application_name AS application, a.usename::text AS owner,
           extract(epoch FROM now() - a.xact_start)::float8 AS seconds,
           greatest(age(a.backend_xmin), age(a.backend_xid)) AS transactions
    FROM pg_stat_activity a
    WHERE (a.datname = current_database() OR a.datid IS NULL)
      AND a.pid <> pg_backend_pid()
      -- A vacuum looks as if it held something, and does not. That of the server itself is of no user.
      AND a.usesysid IS NOT NULL AND coalesce(a.query, '') !~* '^\s*vacuum'
      AND (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL)
    UNION ALL
    SELECT 'prepared', p.gid, '', p.owner::text, extract(epoch FROM now() - p.prepared)::float8, age(p.transaction)
    FROM pg_prepared_xacts p WHERE p.database = current_database()
    UNION ALL
    SELECT 'slot', s.slot_name::text, coalesce(s.plugin::text, ''), '', NULL, age(s.xmin)
    FROM pg_replication_slots s WHERE s.xmin IS NOT NULL
)
SELECT pg_stat_get_dead_tuples(q.oid), pg_stat_get_live_tuples(q.oid), h.kind, h.name, h.application, h.owner,
       h.seconds, h.transactions
FROM (SELECT 'pepsi.workqueue'::regclass::oid AS oid) q
LEFT JOIN (SELECT * FROM holder ORDER BY transactions DESC LIMIT 1) h ON true
