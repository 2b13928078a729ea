-- What a worker, a tool or a mail client may do to the queue, whatever language it is written in.
--
-- A worker holds an id and the claim token that workqueue_load gave it. Every function that takes the token does
-- nothing and returns false when the row no longer runs under it: then the row is somebody else's, and the worker drops
-- it.
-- Call one of them for each message, outside of any transaction: it is the whole outcome.

-- A session keeps the plan of a function, made perhaps when the table was small enough to be read whole: hence the
-- settings. Functions that are a single RETURN take none, for then they are merged into the statements that call them;
-- the names in these are bound when they are made.

CREATE FUNCTION pepsi.state_keys_removed(state jsonb, patch jsonb) RETURNS jsonb
IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql SET search_path = pg_catalog, pepsi AS $$
BEGIN
    -- jsonb_strip_nulls would reach into nested values too.
    RETURN state - ARRAY(SELECT p.key FROM jsonb_each(patch) p WHERE p.value = 'null');
END $$;
COMMENT ON FUNCTION pepsi.state_keys_removed IS 'a state without the keys that a patch has as null';

CREATE FUNCTION pepsi.state_patch(state jsonb, patch jsonb) RETURNS jsonb
IMMUTABLE PARALLEL SAFE LANGUAGE sql
RETURN CASE WHEN patch = '{}' THEN state ELSE pepsi.state_keys_removed(state || patch, patch) END;
COMMENT ON FUNCTION pepsi.state_patch IS 'a state with the keys of a patch set; a null in the patch removes its key';

CREATE FUNCTION pepsi.state_moved_on(state jsonb) RETURNS jsonb
IMMUTABLE PARALLEL SAFE LANGUAGE sql
RETURN state - '{strikes,temporary_failures}'::text[];
COMMENT ON FUNCTION pepsi.state_moved_on IS 'a state without what a message leaves behind when it enters another stage';

CREATE FUNCTION pepsi.workqueue_load(id bigint, epoch bigint)
RETURNS TABLE (claim bigint, stage text, mail_from text, recipients text[], header_from text, subject text, peer inet,
               auth_login text, state jsonb, size integer, received_at timestamptz, age double precision,
               header_block bytea, body bytea)
STABLE LANGUAGE plpgsql SET search_path = pg_catalog, pepsi SET enable_seqscan = off AS $$
BEGIN
    RETURN QUERY
    SELECT w.claim, w.stage, w.mail_from, w.recipients, w.header_from, w.subject, w.peer, w.auth_login, w.state,
           w.size, w.received_at, extract(epoch FROM now() - w.received_at)::double precision,
           coalesce(w.header_block, b.header_block), b.body
    FROM pepsi.workqueue w JOIN pepsi.workqueue_body b ON b.body_id = w.body_id
    WHERE w.workqueue_id = workqueue_load.id AND w.status = 'running' AND w.claim >> 40 = workqueue_load.epoch;
END $$;
COMMENT ON FUNCTION pepsi.workqueue_load IS
    'the message and its claim token; nothing when it does not run under that epoch (PEPSI_EPOCH)';

CREATE FUNCTION pepsi.workqueue_clone(id bigint, clones jsonb) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pepsi SET enable_seqscan = off AS $$
DECLARE
    made bigint;
BEGIN
    INSERT INTO pepsi.workqueue (body_id, header_block, received_at, size, stage, status, mail_from, recipients,
                                 header_from, subject, peer, auth_login, state)
    SELECT w.body_id, w.header_block, w.received_at, w.size, c.stage, coalesce(c.status, 'pending'),
           coalesce(c.mail_from, w.mail_from), coalesce(c.recipients, w.recipients),
           w.header_from, w.subject, w.peer, w.auth_login,
           pepsi.state_patch(pepsi.state_moved_on(w.state), coalesce(c.state, '{}'))
    FROM pepsi.workqueue w,
         jsonb_to_recordset(workqueue_clone.clones)
             AS c (stage text, status text, mail_from text, recipients text[], state jsonb)
    WHERE w.workqueue_id = workqueue_clone.id;
    GET DIAGNOSTICS made = ROW_COUNT;
    RETURN made;
END $$;
COMMENT ON FUNCTION pepsi.workqueue_clone IS
    'copies of a row that the caller has locked: [{"stage", "recipients", "mail_from", "status", "state"}, ...], where '
    'state is a patch and what is left out is the row''s; header block and body are shared';

CREATE FUNCTION pepsi.workqueue_rewrite(id bigint, claim bigint, header_block bytea, body bytea, header_from text,
                                        subject text) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pepsi SET enable_seqscan = off AS $$
DECLARE
    old_body bigint;
    new_body bigint;
BEGIN
    SELECT w.body_id INTO old_body FROM pepsi.workqueue w
    WHERE w.workqueue_id = workqueue_rewrite.id AND w.status = 'running' AND w.claim = workqueue_rewrite.claim
    FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF body IS NOT NULL THEN
        INSERT INTO pepsi.workqueue_body AS n (header_block, body)
        SELECT b.header_block, workqueue_rewrite.body FROM pepsi.workqueue_body b WHERE b.body_id = old_body
        RETURNING n.body_id INTO new_body;
    END IF;
    UPDATE pepsi.workqueue w
    SET header_block = coalesce(workqueue_rewrite.header_block, w.header_block),
        header_from = coalesce(workqueue_rewrite.header_from, w.header_from),
        subject = coalesce(workqueue_rewrite.subject, w.subject),
        body_id = b.body_id,
        size = octet_length(coalesce(workqueue_rewrite.header_block, w.header_block, b.header_block))
               + octet_length(b.body)
    FROM pepsi.workqueue_body b
    WHERE w.workqueue_id = workqueue_rewrite.id AND b.body_id = coalesce(new_body, old_body);
    RETURN true;
END $$;
COMMENT ON FUNCTION pepsi.workqueue_rewrite IS
    'gives a running row another header block, body, From or Subject, where not null; rows that share its body keep it';

CREATE FUNCTION pepsi.workqueue_advance(
    id bigint, claim bigint, stage text, mail_from text DEFAULT NULL, recipients text[] DEFAULT NULL,
    state_patch jsonb DEFAULT '{}', header_block bytea DEFAULT NULL, body bytea DEFAULT NULL,
    header_from text DEFAULT NULL, subject text DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pepsi SET enable_seqscan = off AS $$
BEGIN
    IF num_nonnulls(header_block, body, header_from, subject) > 0 THEN
        PERFORM pepsi.workqueue_rewrite(id, claim, header_block, body, header_from, subject);
    END IF;
    UPDATE pepsi.workqueue w
    SET status = 'pending', claim = NULL, stage = workqueue_advance.stage,
        mail_from = coalesce(workqueue_advance.mail_from, w.mail_from),
        recipients = coalesce(workqueue_advance.recipients, w.recipients),
        state = pepsi.state_patch(pepsi.state_moved_on(w.state), workqueue_advance.state_patch)
    WHERE w.workqueue_id = workqueue_advance.id AND w.status = 'running' AND w.claim = workqueue_advance.claim;
    RETURN FOUND;
END $$;
COMMENT ON FUNCTION pepsi.workqueue_advance IS
    'the message goes on to a stage; what is null stays; state_patch sets keys of the state, a null in it removes one';

CREATE FUNCTION pepsi.workqueue_finish(id bigint, claim bigint, clones jsonb DEFAULT '[]') RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pepsi SET enable_seqscan = off AS $$
BEGIN
    IF clones <> '[]' THEN
        PERFORM FROM pepsi.workqueue w
        WHERE w.workqueue_id = workqueue_finish.id AND w.status = 'running' AND w.claim = workqueue_finish.claim
        FOR UPDATE;
        IF NOT FOUND THEN
            RETURN false;
        END IF;
        -- Before the row goes: with its last row the body would go too.
        PERFORM pepsi.workqueue_clone(id, clones);
    END IF;
    DELETE FROM pepsi.workqueue w
    WHERE w.workqueue_id = workqueue_finish.id AND w.status = 'running' AND w.claim = workqueue_finish.claim;
    RETURN FOUND;
END $$;
COMMENT ON FUNCTION pepsi.workqueue_finish IS
    'the message is done with: its row goes, clones (see workqueue_clone) take its place';

CREATE FUNCTION pepsi.workqueue_pause(
    id bigint, claim bigint, delay double precision, reason text DEFAULT '', state_patch jsonb DEFAULT '{}',
    clones jsonb DEFAULT '[]', mail_from text DEFAULT NULL, recipients text[] DEFAULT NULL,
    header_block bytea DEFAULT NULL, body bytea DEFAULT NULL, header_from text DEFAULT NULL,
    subject text DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pepsi SET enable_seqscan = off AS $$
BEGIN
    IF clones <> '[]' THEN
        PERFORM FROM pepsi.workqueue w
        WHERE w.workqueue_id = workqueue_pause.id AND w.status = 'running' AND w.claim = workqueue_pause.claim
        FOR UPDATE;
        IF NOT FOUND THEN
            RETURN false;
        END IF;
        PERFORM pepsi.workqueue_clone(id, clones);
    END IF;
    IF num_nonnulls(header_block, body, header_from, subject) > 0 THEN
        PERFORM pepsi.workqueue_rewrite(id, claim, header_block, body, header_from, subject);
    END IF;
    UPDATE pepsi.workqueue w
    SET status = 'paused', claim = NULL, timeout = now() + make_interval(secs => workqueue_pause.delay),
        mail_from = coalesce(workqueue_pause.mail_from, w.mail_from),
        recipients = coalesce(workqueue_pause.recipients, w.recipients),
        state = pepsi.state_patch(
            CASE WHEN reason = '' THEN w.state ELSE w.state || jsonb_build_object('last_error', left(reason, 1024)) END,
            workqueue_pause.state_patch)
    WHERE w.workqueue_id = workqueue_pause.id AND w.status = 'running' AND w.claim = workqueue_pause.claim;
    RETURN FOUND;
END $$;
COMMENT ON FUNCTION pepsi.workqueue_pause IS
    'the message waits at its stage for a delay in seconds, or, with a delay of null, until it is released by hand';

CREATE FUNCTION pepsi.workqueue_requeue(id bigint, claim bigint, state_patch jsonb DEFAULT '{}') RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pepsi SET enable_seqscan = off AS $$
BEGIN
    UPDATE pepsi.workqueue w
    SET status = 'pending', claim = NULL, state = pepsi.state_patch(w.state, workqueue_requeue.state_patch)
    WHERE w.workqueue_id = workqueue_requeue.id AND w.status = 'running' AND w.claim = workqueue_requeue.claim;
    RETURN FOUND;
END $$;
COMMENT ON FUNCTION pepsi.workqueue_requeue IS 'the message is pending again at the same stage';

CREATE FUNCTION pepsi.workqueue_fail(
    id bigint, claim bigint, reason text, failure_class text DEFAULT 'permanent', state_patch jsonb DEFAULT '{}')
RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pepsi SET enable_seqscan = off AS $$
BEGIN
    UPDATE pepsi.workqueue w
    SET status = 'failed', claim = NULL,
        state = pepsi.state_patch(w.state, workqueue_fail.state_patch) || jsonb_build_object(
            'last_error', left(reason, 1024), 'failed_stage', w.stage, 'failure_class', failure_class)
    WHERE w.workqueue_id = workqueue_fail.id AND w.status = 'running' AND w.claim = workqueue_fail.claim;
    RETURN FOUND;
END $$;
COMMENT ON FUNCTION pepsi.workqueue_fail IS
    'the message cannot go on: it is kept as failed, with the reason for the operator';

-- For those who hold no claim ----------------------------------------------------------------------------------------

CREATE FUNCTION pepsi.workqueue_inject(
    stage text, mail_from text, recipients text[], message bytea, header_from text DEFAULT '', subject text DEFAULT '',
    state jsonb DEFAULT '{}', peer inet DEFAULT NULL, auth_login text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pepsi SET enable_seqscan = off AS $$
DECLARE
    header_end integer := position('\x0d0a0d0a'::bytea IN message);
    header_size integer;
    new_body bigint;
    new_row bigint;
BEGIN
    header_size := CASE
        WHEN substring(message FROM 1 FOR 2) = '\x0d0a'::bytea THEN 2
        WHEN header_end = 0 THEN octet_length(message)
        ELSE header_end + 3
    END;
    INSERT INTO pepsi.workqueue_body AS b (header_block, body)
    VALUES (substring(message FROM 1 FOR header_size), substring(message FROM header_size + 1))
    RETURNING b.body_id INTO new_body;
    INSERT INTO pepsi.workqueue AS w (body_id, size, stage, mail_from, recipients, header_from, subject, state, peer,
                                      auth_login)
    VALUES (new_body, octet_length(message), workqueue_inject.stage, workqueue_inject.mail_from,
            workqueue_inject.recipients, workqueue_inject.header_from, workqueue_inject.subject,
            workqueue_inject.state, workqueue_inject.peer, workqueue_inject.auth_login)
    RETURNING w.workqueue_id INTO new_row;
    PERFORM pg_notify('workqueue', '');
    RETURN new_row;
END $$;
COMMENT ON FUNCTION pepsi.workqueue_inject IS
    'puts a message (its lines ended by CR LF) in at a stage and wakes the dispatcher; returns its workqueue_id';

CREATE FUNCTION pepsi.workqueue_resume(id bigint) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pepsi SET enable_seqscan = off AS $$
BEGIN
    UPDATE pepsi.workqueue w SET status = 'pending', timeout = NULL
    WHERE w.workqueue_id = workqueue_resume.id AND w.status = 'paused';
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM pg_notify('workqueue', '');
    RETURN true;
END $$;
COMMENT ON FUNCTION pepsi.workqueue_resume IS 'a paused message is pending at once; wakes the dispatcher';

CREATE FUNCTION pepsi.workqueue_body_gc(n bigint DEFAULT 10000) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pepsi
-- Two indexes are walked side by side, 0.3 s for a million rows; a hash of them would go to disk.
SET enable_seqscan = off SET enable_hashjoin = off SET enable_nestloop = off
SET max_parallel_workers_per_gather = 0 AS $$
DECLARE
    swept bigint;
BEGIN
    DELETE FROM pepsi.workqueue_body d WHERE d.body_id = ANY (ARRAY(
        SELECT b.body_id FROM pepsi.workqueue_body b
        WHERE NOT EXISTS (SELECT FROM pepsi.workqueue w WHERE w.body_id = b.body_id)
        LIMIT n));
    GET DIAGNOSTICS swept = ROW_COUNT;
    RETURN swept;
END $$;
COMMENT ON FUNCTION pepsi.workqueue_body_gc IS 'deletes up to n bodies that no row refers to; returns how many';
