-- name: schema_present
-- Whether a record of the installed release can be read.
SELECT to_regclass('pepsi.schema_release') IS NOT NULL;

-- name: schema_recorded
-- Which files were run here.
SELECT release, digest FROM pepsi.schema_release;

-- name: schema_drop
-- Removes everything of Pepsi.
DROP SCHEMA pepsi CASCADE;
