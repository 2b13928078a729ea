-- name: doctor_server
-- What there is to know of the server and of this role on it.
SELECT current_setting('server_version_num')::int AS version,
       current_setting('server_encoding') AS encoding,
       pg_is_in_recovery() AS standby,
       extract(epoch FROM clock_timestamp())::double precision AS clock,
       current_setting('max_connections')::int AS max_connections,
       (SELECT sum(setting::int) FROM pg_settings
        WHERE name IN ('superuser_reserved_connections', 'reserved_connections'))::int AS reserved,
       (SELECT least(nullif(r.rolconnlimit, -1), nullif(d.datconnlimit, -1))
        FROM pg_roles r, pg_database d
        WHERE r.rolname = current_user AND d.datname = current_database()) AS connection_limit,
       (SELECT count(*) FROM pg_stat_activity
        WHERE backend_type = 'client backend'
          AND NOT (datname = current_database() AND coalesce(application_name, '') LIKE 'pepsi%%'))::int AS others,
       current_setting('autovacuum')::boolean AND current_setting('track_counts')::boolean AS autovacuum,
       current_setting('fsync')::boolean AS fsync,
       current_setting('full_page_writes')::boolean AS full_page_writes;

-- name: doctor_tables
-- Tables of the queue that autovacuum was told to leave alone.
SELECT c.relname FROM pg_class c
WHERE c.relnamespace = to_regnamespace('pepsi') AND c.relkind = 'r'
  AND 'autovacuum_enabled=false' = ANY (c.reloptions)
ORDER BY 1;
