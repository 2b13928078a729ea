-- What single correspondents have set: how it is kept, loaded with a message, and what becomes of a message whose
-- recipients have set different things.

CREATE FUNCTION pepsi.settings_address(address text) RETURNS text
IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql SET search_path = pg_catalog, pepsi AS $$
DECLARE
    parts text[];
    local_part text;
BEGIN
    IF address LIKE '"%' THEN
        parts := regexp_match(address, '^"((?:[^"\\]|\\.)*)"(@[^@]*)?$');
        IF parts IS NOT NULL THEN
            local_part := regexp_replace(parts[1], '\\(.)', '\1', 'g');
            IF local_part !~ '^[^\u0001-\u0020\u007f"\\@()<>,:;\[\]]+$' THEN
                local_part := '"' || regexp_replace(local_part, '(["\\])', '\\\1', 'g') || '"';
            END IF;
            RETURN lower((local_part || coalesce(parts[2], '')) COLLATE "C");
        END IF;
    END IF;
    RETURN lower(address COLLATE "C");
END $$;
COMMENT ON FUNCTION pepsi.settings_address IS
    'an address as settings are kept by it: ASCII letters small, no quotes that the local part does not need';

-- By the stage first: then it takes one look to see that nobody has set anything there.
ALTER TABLE pepsi.settings DROP CONSTRAINT settings_pkey;
UPDATE pepsi.settings s SET address = pepsi.settings_address(s.address)
WHERE s.address <> pepsi.settings_address(s.address);
ALTER TABLE pepsi.settings
    ADD PRIMARY KEY (stage, address, key),
    -- Under any other address it would never be found.
    ADD CONSTRAINT settings_address CHECK (address <> '' AND address = pepsi.settings_address(address)),
    -- They are loaded with each message of their correspondent, and must fit into an index entry.
    ADD CONSTRAINT settings_size CHECK (
        octet_length(address) <= 1000 AND octet_length(stage) <= 100 AND octet_length(key) <= 100
        AND octet_length(value) <= 4000);

CREATE FUNCTION pepsi.settings_of(stages text[], keys text[], mail_from text, recipients text[], state jsonb)
RETURNS jsonb
STABLE LANGUAGE plpgsql SET search_path = pg_catalog, pepsi
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    whose text[];
    addresses text[];
BEGIN
    whose := CASE WHEN state -> 'local_origin' = 'true' THEN ARRAY[mail_from] ELSE recipients END;
    addresses := ARRAY(
        SELECT '*'
        -- The function is called for those alone that need more than this, for a call costs more than all the rest.
        UNION SELECT CASE WHEN w.address LIKE '"%' THEN pepsi.settings_address(w.address)
                          ELSE lower(w.address COLLATE "C") END FROM unnest(whose) w (address)
        UNION SELECT '@' || lower(split_part(w.address, '@', -1) COLLATE "C") FROM unnest(whose) w (address)
              WHERE w.address LIKE '%@%');
    -- The OFFSET keeps the planner from comparing thousands of addresses with each row of the stage.
    RETURN (SELECT jsonb_agg(jsonb_build_array(a.address, g.stage, s.key, s.value))
            FROM unnest(stages) g (stage) CROSS JOIN unnest(addresses) a (address) CROSS JOIN LATERAL (
                SELECT n.key, n.value FROM pepsi.settings n
                WHERE n.stage = g.stage AND n.address = a.address AND n.key = ANY (keys)
                OFFSET 0) s);
END $$;
COMMENT ON FUNCTION pepsi.settings_of IS
    'what is set at stages, of keys, for the correspondents of a message: [[address, stage, key, value], ...], null for '
    'nothing; the exact address beats @domain, which beats *';

CREATE FUNCTION pepsi.workqueue_split(id bigint, claim bigint, groups jsonb) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pepsi SET enable_seqscan = off AS $$
DECLARE
    whole text[];
    stay text[];
BEGIN
    SELECT w.recipients INTO whole FROM pepsi.workqueue w
    WHERE w.workqueue_id = workqueue_split.id AND w.status = 'running' AND w.claim = workqueue_split.claim
    FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF ARRAY(SELECT r.address FROM unnest(whole) r (address) ORDER BY r.address COLLATE "C")
       <> ARRAY(SELECT r.address FROM jsonb_array_elements(groups) g (recipients),
                     jsonb_array_elements_text(g.recipients) r (address) ORDER BY r.address COLLATE "C")
    THEN
        RAISE EXCEPTION 'the groups have not just the recipients of message %', id
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    stay := ARRAY(SELECT r.address FROM jsonb_array_elements_text(groups -> 0) WITH ORDINALITY r (address, place)
                  ORDER BY r.place);
    -- What was counted against the message at this stage stays with the row that it was counted for.
    INSERT INTO pepsi.workqueue (body_id, header_block, received_at, size, stage, mail_from, recipients, header_from,
                                 subject, peer, auth_login, state)
    SELECT w.body_id, w.header_block, w.received_at, w.size, w.stage, w.mail_from,
           ARRAY(SELECT r.address FROM jsonb_array_elements_text(g.recipients) WITH ORDINALITY r (address, place)
                 ORDER BY r.place),
           w.header_from, w.subject, w.peer, w.auth_login, pepsi.state_moved_on(w.state)
    FROM pepsi.workqueue w, jsonb_array_elements(groups) WITH ORDINALITY g (recipients, place)
    WHERE w.workqueue_id = workqueue_split.id AND g.place > 1
    ORDER BY g.place;
    UPDATE pepsi.workqueue w SET recipients = stay WHERE w.workqueue_id = workqueue_split.id;
    RETURN true;
END $$;
COMMENT ON FUNCTION pepsi.workqueue_split IS
    'shares the recipients of a running row out: [["a@x", "b@x"], ["c@x"], ...]; the first group stays, every other is a '
    'new pending row at the same stage';
