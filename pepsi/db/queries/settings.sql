-- name: settings_page
-- The next settings in the order of stage, address and key. Parameters that are null filter nothing.
SELECT s.address, s.stage, s.key, s.value
FROM pepsi.settings s
WHERE (s.stage, s.address, s.key) > (%(after_stage)s, %(after_address)s, %(after_key)s)
  AND (%(stage)s::text IS NULL OR s.stage = %(stage)s)
  AND (%(address)s::text IS NULL OR s.address = %(address)s)
ORDER BY s.stage, s.address, s.key
LIMIT %(limit)s

-- name: settings_at
-- What is set at a stage for any of some addresses.
SELECT s.address, s.key, s.value
FROM pepsi.settings s
WHERE s.stage = %(stage)s AND s.address = ANY (%(addresses)s)
ORDER BY s.key, s.address

-- name: settings_set
-- Set a value; returns what it was before, null if there was none.
WITH former AS (
    SELECT s.value FROM pepsi.settings s
    WHERE s.stage = %(stage)s AND s.address = %(address)s AND s.key = %(key)s
)
INSERT INTO pepsi.settings (address, stage, key, value)
VALUES (%(address)s, %(stage)s, %(key)s, %(value)s)
ON CONFLICT (stage, address, key) DO UPDATE SET value = excluded.value
RETURNING (SELECT f.value FROM former f)

-- name: settings_unset
-- Forget a setting; returns its value, no row if there was none.
DELETE FROM pepsi.settings s
WHERE s.stage = %(stage)s AND s.address = %(address)s AND s.key = %(key)s
RETURNING s.value
