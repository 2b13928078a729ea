-- name: config_overlay
-- The keys of pepsi.conf that are set in the database, in an order that does not change.
SELECT section, key, value
FROM pepsi.config_override
ORDER BY section, key
