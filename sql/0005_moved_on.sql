-- A message that was interrupted again and again at one stage is under suspicion there, and not at the next one.

CREATE OR REPLACE FUNCTION pepsi.state_moved_on(state jsonb) RETURNS jsonb
IMMUTABLE PARALLEL SAFE LANGUAGE sql
RETURN state - '{strikes,temporary_failures,interrupted}'::text[];
