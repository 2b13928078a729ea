-- Only a running row has a claim. The status is not asked for beside it: the plan could then walk the index of running
-- rows, dead entries and all, in place of the primary key.
-- A row that still runs under a former epoch is about to be given back: whoever begins with it now would be at it beside
-- the next one.

-- name: plan_for_a_large_queue
-- A session keeps its plans. One that reads all of an empty table would be kept for the million rows that come later.
SET enable_seqscan = off

-- name: prepare_load_metadata
-- Prepare what load_messages runs, for stages that look at neither header nor body.
PREPARE pepsi_load (bigint[], text[], text[]) AS
SELECT w.workqueue_id, w.claim, w.stage, w.received_at, extract(epoch FROM now() - w.received_at)::double precision,
       w.mail_from, w.recipients, w.header_from, w.subject, host(w.peer), w.auth_login, w.size, w.state,
       NULL::bytea, NULL::bytea,
       CASE WHEN EXISTS (SELECT FROM pepsi.settings s WHERE s.stage = ANY ($2)) THEN
            pepsi.settings_of($2, $3, w.mail_from, w.recipients, w.state) END
FROM pepsi.workqueue w
WHERE w.workqueue_id = ANY ($1)
  AND w.claim >= (SELECT e.epoch << 40 FROM pepsi.dispatcher_epoch e WHERE e.only_row)

-- name: prepare_load_headers
-- The same for stages that look at the header block.
PREPARE pepsi_load (bigint[], text[], text[]) AS
SELECT w.workqueue_id, w.claim, w.stage, w.received_at, extract(epoch FROM now() - w.received_at)::double precision,
       w.mail_from, w.recipients, w.header_from, w.subject, host(w.peer), w.auth_login, w.size, w.state,
       coalesce(w.header_block, b.header_block), NULL::bytea,
       CASE WHEN EXISTS (SELECT FROM pepsi.settings s WHERE s.stage = ANY ($2)) THEN
            pepsi.settings_of($2, $3, w.mail_from, w.recipients, w.state) END
FROM pepsi.workqueue w JOIN pepsi.workqueue_body b ON b.body_id = w.body_id
WHERE w.workqueue_id = ANY ($1)
  AND w.claim >= (SELECT e.epoch << 40 FROM pepsi.dispatcher_epoch e WHERE e.only_row)

-- name: prepare_load_body
-- The same for stages that look at the whole message.
PREPARE pepsi_load (bigint[], text[], text[]) AS
SELECT w.workqueue_id, w.claim, w.stage, w.received_at, extract(epoch FROM now() - w.received_at)::double precision,
       w.mail_from, w.recipients, w.header_from, w.subject, host(w.peer), w.auth_login, w.size, w.state,
       coalesce(w.header_block, b.header_block), b.body,
       CASE WHEN EXISTS (SELECT FROM pepsi.settings s WHERE s.stage = ANY ($2)) THEN
            pepsi.settings_of($2, $3, w.mail_from, w.recipients, w.state) END
FROM pepsi.workqueue w JOIN pepsi.workqueue_body b ON b.body_id = w.body_id
WHERE w.workqueue_id = ANY ($1)
  AND w.claim >= (SELECT e.epoch << 40 FROM pepsi.dispatcher_epoch e WHERE e.only_row)

-- name: prepare_settle
-- Prepare what settle_messages runs. The ids come twice: by the records alone the plan can be to join all rows.
PREPARE pepsi_settle (bigint[], jsonb) AS
UPDATE pepsi.workqueue w
SET status = o.status,
    claim = NULL,
    timeout = CASE WHEN o.status = 'paused' THEN now() + make_interval(secs => o.delay) END,
    stage = coalesce(o.stage, w.stage),
    mail_from = coalesce(o.mail_from, w.mail_from),
    recipients = coalesce(o.recipients, w.recipients),
    state = pepsi.state_patch(CASE WHEN o.stage IS NULL THEN w.state ELSE pepsi.state_moved_on(w.state) END, o.state)
FROM jsonb_to_recordset($2)
    AS o (id bigint, claim bigint, status text, stage text, delay double precision, mail_from text, recipients text[],
          state jsonb)
WHERE w.workqueue_id = ANY ($1) AND w.workqueue_id = o.id AND w.claim = o.claim
RETURNING w.workqueue_id

-- name: prepare_finish
-- Prepare what finish_messages runs.
PREPARE pepsi_finish (bigint[], bigint[]) AS
DELETE FROM pepsi.workqueue w
USING unnest($1, $2) AS o (id, claim)
WHERE w.workqueue_id = ANY ($1) AND w.workqueue_id = o.id AND w.claim = o.claim
RETURNING w.workqueue_id

-- name: load_messages
-- Load the messages that are running, whoever runs them: the claim tells. With each comes what its correspondents have
-- set, of some keys at some stages.
EXECUTE pepsi_load (%(ids)s::bigint[], %(stages)s::text[], %(keys)s::text[])

-- name: split_message
-- Share the recipients of a message out; returns its id if it was still ours.
SELECT %(id)s::bigint
WHERE pepsi.workqueue_split(%(id)s, %(claim)s, %(groups)s::jsonb)

-- name: settle_messages
-- Write outcomes that leave the row where it is and its content alone; returns the ids that were still ours.
EXECUTE pepsi_settle (%(ids)s::bigint[], %(outcomes)s::jsonb)

-- name: finish_messages
-- Delete the rows of messages that are done with; returns the ids that were still ours.
EXECUTE pepsi_finish (%(ids)s::bigint[], %(claims)s::bigint[])

-- name: finish_with_clones
-- Delete the row of a message and put others in its place; returns its id if it was still ours.
SELECT %(id)s::bigint
WHERE pepsi.workqueue_finish(%(id)s, %(claim)s, %(clones)s::jsonb)

-- name: advance_rewritten
-- Send a message with another content on; returns its id if it was still ours.
SELECT %(id)s::bigint
WHERE pepsi.workqueue_advance(%(id)s, %(claim)s, %(stage)s, %(mail_from)s, %(recipients)s::text[], %(state)s::jsonb,
                              %(header_block)s::bytea, %(body)s::bytea, %(header_from)s, %(subject)s)

-- name: pause_rewritten
-- Let a message wait that has another content or spawns others; returns its id if it was still ours.
SELECT %(id)s::bigint
WHERE pepsi.workqueue_pause(%(id)s, %(claim)s, %(delay)s::double precision, '', %(state)s::jsonb, %(clones)s::jsonb,
                            %(mail_from)s, %(recipients)s::text[], %(header_block)s::bytea, %(body)s::bytea,
                            %(header_from)s, %(subject)s)

-- name: carry_on
-- Bring a row to the stage that its message came to in this pass. It still runs: what is decided there is written next.
UPDATE pepsi.workqueue w
SET stage = %(carried_stage)s,
    mail_from = coalesce(%(carried_mail_from)s, w.mail_from),
    recipients = coalesce(%(carried_recipients)s::text[], w.recipients),
    state = pepsi.state_patch(pepsi.state_moved_on(w.state), %(carried_state)s::jsonb)
WHERE w.workqueue_id = %(carried_id)s AND w.claim = %(carried_claim)s

-- name: carry_content
-- Give such a row the content that it has by then.
SELECT pepsi.workqueue_rewrite(%(carried_id)s, %(carried_claim)s, %(carried_header_block)s::bytea,
                               %(carried_body)s::bytea, %(carried_header_from)s, %(carried_subject)s)
