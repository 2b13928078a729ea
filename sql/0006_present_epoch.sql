-- A message that still runs under a former epoch is about to be given back: a worker of that epoch that began with it now
-- would be at it beside a worker of the present one.

CREATE OR REPLACE FUNCTION pepsi.workqueue_load(id bigint, epoch bigint)
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
    WHERE w.workqueue_id = workqueue_load.id AND w.status = 'running' AND w.claim >> 40 = workqueue_load.epoch
      AND workqueue_load.epoch >= (SELECT e.epoch FROM pepsi.dispatcher_epoch e WHERE e.only_row);
END $$;
