-- A message is a suspect at the stage at which a worker died that was at it or at another one, and not at the next one.

CREATE OR REPLACE FUNCTION pepsi.state_moved_on(state jsonb) RETURNS jsonb
IMMUTABLE PARALLEL SAFE LANGUAGE sql
RETURN state - '{strikes,temporary_failures,interrupted,suspect}'::text[];
