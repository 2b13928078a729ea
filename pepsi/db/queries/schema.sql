-- name: schema_present
-- Whether a record of the installed release can be read.
SELECT to_regclass('pepsi.schema_release') IS NOT NULL;

-- name: schema_recorded
-- Which files were run here.
SELECT release, digest FROM pepsi.schema_release;

-- name: schema_drop
-- Removes everything of Pepsi.
DROP SCHEMA pepsi CASCADE;

-- name: schema_roles
-- How many of the roles of Pepsi were let into the schema.
SELECT count(*) FROM pg_roles
WHERE rolname IN ('pepsi_dispatch', 'pepsi_stage', 'pepsi_ingress', 'pepsi_admin')
  AND has_schema_privilege(oid, 'pepsi', 'USAGE');

-- name: schema_exists
-- Whether there is anything to drop.
SELECT to_regnamespace('pepsi') IS NOT NULL;

-- name: schema_lock
-- Wait until nobody else changes the schema.
SELECT pg_advisory_lock(%(class)s, %(object)s);

-- name: schema_unlock
-- Give a lock back before the session ends.
SELECT pg_advisory_unlock(%(class)s, %(object)s);

-- name: schema_ground
-- What the schema is to be put on.
SELECT current_setting('server_version_num')::int, current_setting('server_encoding'), pg_is_in_recovery();
