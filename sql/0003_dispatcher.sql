-- What the dispatcher asks of the queue at every turn.

CREATE FUNCTION pepsi.state_count(state jsonb, key text) RETURNS integer
IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql SET search_path = pg_catalog, pepsi AS $$
BEGIN
    -- A stage may have put anything there; a claim must not fail for that.
    RETURN CASE WHEN jsonb_typeof(state -> key) = 'number'
        THEN greatest(0, least(1000000, (state ->> key)::numeric))::integer ELSE 0 END;
END $$;
COMMENT ON FUNCTION pepsi.state_count IS 'a counter in a state; 0 when it is missing or no number';

-- A session keeps the plan of this function, made perhaps when the table was empty: a sequential scan would be kept for
-- the million rows that come later, and so would a walk over the primary key, which the planner likes for its order.
CREATE FUNCTION pepsi.workqueue_claim(stages text[], capacities integer[], claim bigint)
RETURNS TABLE (workqueue_id bigint, stage text, strikes integer)
LANGUAGE plpgsql SET search_path = pg_catalog, pepsi SET enable_seqscan = off SET enable_bitmapscan = off
SET random_page_cost = 1.1 AS $$
BEGIN
    RETURN QUERY
    WITH picked AS MATERIALIZED (
        SELECT p.workqueue_id
        FROM unnest(stages, capacities) AS want (stage, capacity)
        CROSS JOIN LATERAL (
            SELECT w.workqueue_id FROM pepsi.workqueue w
            -- Not an equality: that would make the stage no part of the order, and the planner could walk the primary
            -- key instead, past every row that is not pending.
            WHERE w.status = 'pending' AND w.stage BETWEEN want.stage AND want.stage
            ORDER BY w.stage, w.workqueue_id
            LIMIT want.capacity
            -- There is one claimer, so nothing is shared out by this. It steps over a row that somebody's forgotten
            -- transaction holds, which would stop all mail otherwise.
            FOR UPDATE SKIP LOCKED) p
    ), claimed AS (
        UPDATE pepsi.workqueue w
        SET status = 'running', claim = workqueue_claim.claim
        WHERE w.workqueue_id = ANY (ARRAY(SELECT picked.workqueue_id FROM picked))
        RETURNING w.workqueue_id, w.stage, pepsi.state_count(w.state, 'strikes') AS strikes
    )
    SELECT c.workqueue_id, c.stage, c.strikes FROM claimed c ORDER BY c.workqueue_id;
END $$;
COMMENT ON FUNCTION pepsi.workqueue_claim IS
    'turns the oldest pending rows of each stage, up to its capacity, to running under a claim token';
