-- name: inject_batch
-- Put messages in; returns their ids in the order given. The numbers are drawn first, because nothing promises the order
-- in which an INSERT hands them back.
WITH arrival AS MATERIALIZED (
    SELECT a.*, nextval('pepsi.workqueue_body_body_id_seq') AS body_id,
           nextval('pepsi.workqueue_workqueue_id_seq') AS workqueue_id
    FROM ROWS FROM (
        jsonb_to_recordset(%(envelopes)s::jsonb)
            AS (mail_from text, recipients text[], header_from text, subject text, peer inet, auth_login text,
                state jsonb),
        unnest(%(header_blocks)s::bytea[]),
        unnest(%(bodies)s::bytea[])
    ) WITH ORDINALITY
        AS a (mail_from, recipients, header_from, subject, peer, auth_login, state, header_block, body, place)
), bodies AS (
    INSERT INTO pepsi.workqueue_body (body_id, header_block, body) OVERRIDING SYSTEM VALUE
    SELECT body_id, header_block, body FROM arrival
), rows AS (
    INSERT INTO pepsi.workqueue (workqueue_id, body_id, size, stage, mail_from, recipients, header_from, subject, peer,
                                 auth_login, state) OVERRIDING SYSTEM VALUE
    SELECT workqueue_id, body_id, octet_length(header_block) + octet_length(body), %(stage)s, mail_from, recipients,
           header_from, subject, peer, auth_login, state
    FROM arrival
), woken AS MATERIALIZED (
    SELECT pg_notify('workqueue', '')
)
SELECT arrival.workqueue_id FROM arrival, woken ORDER BY arrival.place
