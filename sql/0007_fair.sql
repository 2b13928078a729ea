-- The claim in the fair order, and the claim of the oldest rows, both from floors on.
--
-- No row that waits has an id below a floor. The caller knows that, and the claim begins there: what others have left
-- of the rows before it (dead entries that an old snapshot, or the lack of a vacuum, keeps in the index) is not walked
-- again and again.
--
-- A session keeps the plans of these functions, made perhaps when the table was empty, hence the settings. Hence, too,
-- comparisons of rows where a plain equality and ORDER BY workqueue_id would say the same: after an equality the column
-- is no part of the order, and the planner could walk the primary key instead, past every row that is not pending.

DROP FUNCTION pepsi.workqueue_claim(text[], integer[], bigint);

CREATE FUNCTION pepsi.workqueue_claim(claim bigint, stages text[], capacities integer[], floors bigint[])
RETURNS TABLE (workqueue_id bigint, stage text, sender text, strikes integer, interrupted integer)
LANGUAGE plpgsql SET search_path = pg_catalog, pepsi SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_sort = off SET random_page_cost = 1.1 SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY
    WITH picked AS MATERIALIZED (
        SELECT p.workqueue_id
        FROM unnest(stages, capacities, floors) AS want (stage, capacity, floor)
        CROSS JOIN LATERAL (
            SELECT w.workqueue_id FROM pepsi.workqueue w
            WHERE w.status = 'pending' AND (w.stage, w.workqueue_id) >= (want.stage, want.floor)
              AND w.stage <= want.stage
            ORDER BY w.stage, w.workqueue_id
            LIMIT want.capacity
            -- There is one claimer, so nothing is shared out by this. It steps over a row that somebody's forgotten
            -- transaction holds, which would stop all mail otherwise.
            FOR UPDATE SKIP LOCKED) p
    ), claimed AS (
        UPDATE pepsi.workqueue w
        SET status = 'running', claim = workqueue_claim.claim
        WHERE w.workqueue_id = ANY (ARRAY(SELECT picked.workqueue_id FROM picked))
        RETURNING w.workqueue_id, w.stage, w.sender_key, pepsi.state_count(w.state, 'strikes') AS strikes,
                  pepsi.state_count(w.state, 'interrupted') AS interrupted
    )
    SELECT c.workqueue_id, c.stage, c.sender_key, c.strikes, c.interrupted FROM claimed c ORDER BY c.workqueue_id;
END $$;
COMMENT ON FUNCTION pepsi.workqueue_claim IS
    'turns the oldest pending rows of each stage, from its floor on and up to its capacity, to running under a claim '
    'token';

CREATE FUNCTION pepsi.workqueue_claim_fair(
    claim bigint, stages text[], capacities integer[], fifo integer[], averages double precision[], afters text[],
    floors bigint[], sender_stages integer[], sender_keys text[], leads double precision[], sender_floors bigint[])
RETURNS TABLE (workqueue_id bigint, stage text, sender text, strikes integer, interrupted integer, last text,
               complete boolean, lowest double precision)
LANGUAGE plpgsql SET search_path = pg_catalog, pepsi SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_sort = off SET enable_nestloop = off SET enable_mergejoin = off SET random_page_cost = 1.1 SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    ids bigint[] := '{}';               -- all that is claimed, in order
    lasts text[] := '{}';               -- and the windows
    completes boolean[] := '{}';
    lowests double precision[] := '{}';
    at_stage text COLLATE "C";
    capacity integer;
    average double precision;
    floor bigint;
    oldest bigint[];
    ranked bigint[];
    room integer;
    low integer;                        -- the stage's part of the senders' arrays
    high integer := 0;
    known integer;                      -- there: the first that is past the last sender looked at
    stop integer;                       -- and the first from there on that has a floor of its own
    bound text COLLATE "C";             -- keys are looked for below this
    upper text COLLATE "C";             -- and below the next stop
    key text COLLATE "C";
    first bigint;
    keys text[];                        -- the window: who waits, from which id on, and with which lead
    firsts bigint[];
    own_leads double precision[];
    width integer;
    idle integer;
    more boolean[];                     -- which of the window may have more rows than were read
    round integer;
    short boolean;
    locking boolean;
BEGIN
    FOR number IN 1 .. cardinality(stages) LOOP
        at_stage := stages[number];
        capacity := capacities[number];
        average := averages[number];
        floor := floors[number];
        low := high + 1;
        high := high + cardinality(array_positions(sender_stages, number));

        -- The oldest, whoever sent them. They are claimed in any case, and so can be locked right here.
        oldest := '{}';
        IF fifo[number] > 0 THEN
            oldest := ARRAY(
                SELECT w.workqueue_id FROM pepsi.workqueue w
                WHERE w.status = 'pending' AND (w.stage, w.workqueue_id) >= (at_stage, floor) AND w.stage <= at_stage
                ORDER BY w.stage, w.workqueue_id
                LIMIT least(fifo[number], capacity)
                FOR UPDATE SKIP LOCKED);
        END IF;

        -- Who waits: one probe of the index for each sender. Those with floors of their own are probed from there on,
        -- those between two of them from the stage's floor on.
        width := 0;
        idle := 0;
        keys := '{}';
        firsts := '{}';
        own_leads := '{}';
        key := afters[number];
        bound := '~';  -- every key begins with a small letter
        complete := true;
        last := '';
        known := low;
        WHILE known <= high AND sender_keys[known] COLLATE "C" <= key LOOP
            known := known + 1;
        END LOOP;
        stop := known;
        LOOP
            WHILE stop <= high AND (stop < known OR sender_floors[stop] <= floor) LOOP
                stop := stop + 1;
            END LOOP;
            upper := bound;
            IF stop <= high THEN
                upper := least(bound, sender_keys[stop] COLLATE "C");
            END IF;
            SELECT w.sender_key, w.workqueue_id INTO key, first
            FROM pepsi.workqueue w
            WHERE w.status = 'pending' AND w.stage = at_stage AND w.sender_key > key AND w.sender_key < upper
              AND w.workqueue_id >= floor
            ORDER BY w.sender_key, w.workqueue_id
            LIMIT 1;
            IF FOUND THEN
                WHILE known <= high AND sender_keys[known] COLLATE "C" < key LOOP
                    known := known + 1;
                END LOOP;
            ELSIF upper < bound THEN
                key := upper;
                known := stop;
                SELECT w.workqueue_id INTO first
                FROM pepsi.workqueue w
                WHERE w.status = 'pending' AND w.stage = at_stage AND w.sender_key <= key
                  AND (w.sender_key, w.workqueue_id) >= (key, sender_floors[stop])
                ORDER BY w.sender_key, w.workqueue_id
                LIMIT 1;
            ELSIF bound = '~' AND afters[number] > '' THEN
                -- The end. It goes on at the beginning, as far as to where it began.
                key := '';
                bound := afters[number] || chr(1);
                known := low;
                stop := low;
                CONTINUE;
            ELSE
                EXIT;
            END IF;
            IF first IS NULL THEN
                complete := idle < 64;
                idle := idle + 1;
            ELSE
                complete := width < least(64, greatest(16, 2 * capacity));
            END IF;
            EXIT WHEN NOT complete;
            last := key;
            IF first IS NOT NULL THEN
                width := width + 1;
                keys[width] := key;
                firsts[width] := first;
                own_leads[width] := 0;
                IF known <= high AND sender_keys[known] COLLATE "C" = key THEN
                    own_leads[width] := leads[known];
                END IF;
            END IF;
            IF known <= high AND sender_keys[known] COLLATE "C" = key THEN
                known := known + 1;
            END IF;
        END LOOP;
        lasts[number] := last;
        completes[number] := complete;
        lowests[number] := coalesce((SELECT min(l.lead) FROM unnest(own_leads) l (lead)), 0);

        -- The others by rank. How many rows of each sender can win is guessed from the leads, as if all had many rows: the
        -- ranks of all rise to one level, as water does. Where some turn out to have fewer, the level of the others
        -- rises; where that does not do, each is read as far as it could win at all. A row that somebody has locked is
        -- found when those chosen are to be locked; then each row is locked as it is read.
        ranked := '{}';
        room := capacity - cardinality(oldest);
        more := array_fill(true, ARRAY[width]);
        round := 1;
        locking := false;
        WHILE room > 0 AND width > 0 LOOP
            WITH sender AS MATERIALIZED (
                SELECT s.number, s.key, s.first, s.lead, s.more, CASE
                    WHEN NOT s.more OR round = 3 AND locking THEN capacity
                    WHEN round = 3 THEN greatest(1, capacity + 1 - rank() OVER (ORDER BY s.lead, s.first))
                    ELSE least(capacity, greatest(1, ceil((level.rank - s.lead) / greatest(average, 1e-9))))
                    END::integer AS quota
                FROM ROWS FROM (unnest(keys), unnest(firsts), unnest(own_leads), unnest(more))
                         WITH ORDINALITY s (key, first, lead, more, number),
                     (SELECT min((capacity * average + l.total) / l.count) AS rank
                      FROM (SELECT sum(u.lead) OVER below AS total, row_number() OVER below AS count
                            FROM unnest(own_leads, more) u (lead, more) WHERE u.more
                            WINDOW below AS (ORDER BY u.lead ROWS UNBOUNDED PRECEDING)) l) level
            ), candidate AS MATERIALIZED (
                SELECT s.number, s.first AS id, 0 AS place, s.lead AS rank FROM sender s WHERE NOT locking
                UNION ALL
                SELECT s.number, r.id, r.place, s.lead + r.place * average
                FROM sender s CROSS JOIN LATERAL (
                    SELECT n.workqueue_id AS id, row_number() OVER () AS place FROM (
                        SELECT w.workqueue_id FROM pepsi.workqueue w
                        WHERE w.status = 'pending' AND w.stage = at_stage AND w.sender_key <= s.key
                          AND (w.sender_key, w.workqueue_id) > (s.key, s.first)
                        ORDER BY w.sender_key, w.workqueue_id
                        LIMIT s.quota - 1) n) r
                WHERE NOT locking
                UNION ALL
                SELECT s.number, r.id, r.place, s.lead + r.place * average
                FROM sender s CROSS JOIN LATERAL (
                    SELECT n.workqueue_id AS id, row_number() OVER () - 1 AS place FROM (
                        SELECT w.workqueue_id FROM pepsi.workqueue w
                        WHERE w.status = 'pending' AND w.stage = at_stage AND w.sender_key <= s.key
                          AND (w.sender_key, w.workqueue_id) >= (s.key, s.first)
                        ORDER BY w.sender_key, w.workqueue_id
                        LIMIT s.quota
                        FOR UPDATE SKIP LOCKED) n) r
                WHERE locking
            ), winner AS (
                SELECT coalesce(array_agg(c.id ORDER BY c.rank, c.id), '{}') AS ids, max(c.rank) AS last_rank,
                       count(*) AS count
                FROM (SELECT c.id, c.rank FROM candidate c WHERE c.id <> ALL (oldest)
                      ORDER BY c.rank, c.id LIMIT room) c
            ), open AS (
                SELECT s.number, c.number IS NOT NULL AS more, c.number IS NOT NULL AND s.quota < capacity
                    AND (winner.count < room OR s.lead + s.quota * average <= winner.last_rank) AS wanted
                FROM winner CROSS JOIN sender s
                     LEFT JOIN candidate c ON c.number = s.number AND c.place = s.quota - 1
            )
            SELECT (SELECT winner.ids FROM winner), array_agg(o.more ORDER BY o.number), bool_or(o.wanted) AND round < 3
            INTO ranked, more, short
            FROM open o;
            IF short THEN
                round := round + 1;
            ELSIF locking THEN
                EXIT;
            ELSE
                -- Any other condition would let the planner walk the rows of the stage rather than look these up.
                WITH mine AS MATERIALIZED (
                    SELECT w.status, w.stage FROM pepsi.workqueue w
                    WHERE w.workqueue_id = ANY (ranked) FOR UPDATE SKIP LOCKED)
                SELECT count(*) = cardinality(ranked) INTO locking
                FROM mine WHERE mine.status = 'pending' AND mine.stage = at_stage;
                EXIT WHEN locking;
                locking := true;
                more := array_fill(true, ARRAY[width]);
                round := 1;
            END IF;
        END LOOP;
        ids := ids || oldest || ranked;
    END LOOP;

    RETURN QUERY
    WITH claimed AS (
        UPDATE pepsi.workqueue w
        SET status = 'running', claim = workqueue_claim_fair.claim
        WHERE w.workqueue_id = ANY (ids)
        RETURNING w.workqueue_id, w.stage, w.sender_key, pepsi.state_count(w.state, 'strikes') AS strikes,
                  pepsi.state_count(w.state, 'interrupted') AS interrupted
    )
    SELECT c.workqueue_id, c.stage, c.sender_key, c.strikes, c.interrupted, NULL::text, NULL::boolean,
           NULL::double precision
    FROM unnest(ids) WITH ORDINALITY i (id, place) JOIN claimed c ON c.workqueue_id = i.id
    ORDER BY i.place;
    RETURN QUERY
    SELECT NULL::bigint, v.stage, NULL::text, NULL::integer, NULL::integer, v.last, v.complete, v.lowest
    FROM unnest(stages, lasts, completes, lowests) v (stage, last, complete, lowest);
END $$;
COMMENT ON FUNCTION pepsi.workqueue_claim_fair IS
    'turns pending rows of each stage, up to its capacity, to running in the fair order; senders are given by the '
    'number of their stage and their key, in order';

CREATE OR REPLACE FUNCTION pepsi.workqueue_resume(id bigint) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pepsi SET enable_seqscan = off AS $$
BEGIN
    UPDATE pepsi.workqueue w SET status = 'pending', timeout = NULL
    WHERE w.workqueue_id = workqueue_resume.id AND w.status = 'paused';
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    -- The dispatcher's floors may be above it.
    PERFORM pg_notify('workqueue_repair', '');
    PERFORM pg_notify('workqueue', '');
    RETURN true;
END $$;
