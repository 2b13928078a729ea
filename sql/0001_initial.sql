-- The tables of Pepsi. pepsi-setup runs each numbered file in a transaction of its own, and records its digest.
--
-- Text that is compared or ordered has the collation "C": byte order, the same on every host, and cheap.

CREATE SCHEMA IF NOT EXISTS pepsi;

CREATE TABLE pepsi.schema_release (
    release      bigint PRIMARY KEY,                  -- the number of the file
    file         text NOT NULL,                       -- its name
    digest       text NOT NULL,                       -- SHA-256 of its bytes, in hex
    installed_at timestamptz NOT NULL DEFAULT now()   -- when it was run
);

-- The queue ---------------------------------------------------------------------------------------------------------

-- What never changes while a message hops from stage to stage. Rows split off one message share one of these.
CREATE TABLE pepsi.workqueue_body (
    body_id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,  -- names it, for the rows that share it
    header_block bytea NOT NULL,                      -- as it arrived, with the empty line that ends it
    body         bytea NOT NULL                       -- the rest, byte for byte
) WITH (
    autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_scale_factor = 0.05,
    toast.autovacuum_vacuum_threshold = 2000, toast.autovacuum_vacuum_scale_factor = 0.05
);
-- Compressing takes longer than all the rest of an insert, and most large bodies are compressed files already.
ALTER TABLE pepsi.workqueue_body ALTER body SET STORAGE EXTERNAL;

CREATE TABLE pepsi.workqueue (
    workqueue_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,  -- the message's name; older is smaller
    body_id      bigint NOT NULL REFERENCES pepsi.workqueue_body,  -- header block and body as they arrived
    claim        bigint,                              -- token of the claim it runs under: epoch << 40 | counter
    received_at  timestamptz NOT NULL DEFAULT now(),  -- when Pepsi took it over; lifetimes count from here
    timeout      timestamptz,                         -- when a paused row is due; NULL: parked until released by hand
    size         integer NOT NULL,                    -- bytes of header block and body
    stage        text COLLATE "C" NOT NULL,           -- the stage that is to run next, or runs now
    status       text COLLATE "C" NOT NULL DEFAULT 'pending',  -- where it stands; see the constraint below
    mail_from    text NOT NULL,                       -- envelope sender; '' is the null sender
    recipients   text[] NOT NULL,                     -- envelope recipients
    header_from  text NOT NULL DEFAULT '',            -- From, decoded and cut, to be shown and matched
    subject      text NOT NULL DEFAULT '',            -- Subject, likewise
    peer         inet,                                -- who handed it in by SMTP; NULL: made on this host
    auth_login   text,                                -- as whom the submitter was authenticated
    state        jsonb NOT NULL DEFAULT '{}',         -- what the stages remember of it
    header_block bytea,                               -- as a stage rewrote it; NULL: as it arrived
    -- Whose turn it is in the fair order. A remote host can pick its envelope sender freely, but not its address, and
    -- it owns a whole /64 of IPv6. The bound keeps a hostile address within what an index entry can hold.
    sender_key   text COLLATE "C" NOT NULL GENERATED ALWAYS AS (left(
        CASE
            WHEN auth_login IS NOT NULL THEN 'user:' || auth_login
            WHEN family(peer) = 4 THEN 'ip:' || host(peer)
            -- An IPv4 peer of a dual-stack socket; by its /64, all of IPv4 would be one sender.
            WHEN peer <<= '::ffff:0.0.0.0/96'::inet THEN 'ip:' || substr(host(peer), 8)
            WHEN peer IS NOT NULL THEN 'ip:' || text(network(set_masklen(peer, 64)))
            WHEN mail_from <> '' THEN 'from:' || lower(split_part(mail_from, '@', -1) COLLATE "C")
            ELSE 'null:' || lower(split_part(recipients[1], '@', -1) COLLATE "C")
        END, 300)) STORED,
    CONSTRAINT workqueue_status CHECK (status IN ('pending', 'running', 'paused', 'failed', 'timeout')),
    CONSTRAINT workqueue_claimed_while_running CHECK ((status = 'running') = (claim IS NOT NULL)),
    CONSTRAINT workqueue_due_while_paused CHECK (timeout IS NULL OR status = 'paused'),
    -- From an infinite time PostgreSQL before 17 refuses to subtract: one such row would fail every query that asks how
    -- long rows have still to wait. What a worker reads must be a year that its language knows, too.
    CONSTRAINT workqueue_finite_timeout CHECK (timeout IS NULL OR isfinite(timeout)),
    CONSTRAINT workqueue_received_at CHECK (
        received_at >= '1970-01-01 00:00:00+00' AND received_at < '9999-01-01 00:00:00+00'),
    CONSTRAINT workqueue_recipients CHECK (
        array_lower(recipients, 1) IS NOT DISTINCT FROM 1 AND array_position(recipients, NULL) IS NULL),
    CONSTRAINT workqueue_stage CHECK (stage <> ''),
    CONSTRAINT workqueue_size CHECK (size >= 0),
    CONSTRAINT workqueue_state CHECK (jsonb_typeof(state) = 'object')
) WITH (
    -- Each hop leaves two dead rows behind. To leave room on the pages would gain nothing: an update that changes the
    -- predicate of an index, as every hop does, can never keep to its page.
    autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_threshold = 2000, autovacuum_analyze_scale_factor = 0.05
);

CREATE INDEX workqueue_body_id ON pepsi.workqueue (body_id);
CREATE INDEX workqueue_pending ON pepsi.workqueue (stage, workqueue_id) WHERE status = 'pending';
CREATE INDEX workqueue_pending_by_sender ON pepsi.workqueue (stage, sender_key, workqueue_id) WHERE status = 'pending';
CREATE INDEX workqueue_paused ON pepsi.workqueue (timeout) WHERE status = 'paused';
CREATE INDEX workqueue_running ON pepsi.workqueue (claim) WHERE status = 'running';

-- A body goes with its last row. Two transactions that delete the last two rows at once each still see the other's, so
-- that both leave the body behind: workqueue_body_gc sweeps these up.
--
-- The settings are there because a session keeps the plan that it made first, perhaps when the tables were small enough
-- to be read whole.
CREATE FUNCTION pepsi.workqueue_rows_deleted() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pepsi
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    DELETE FROM pepsi.workqueue_body b
    WHERE b.body_id = ANY (ARRAY(SELECT g.body_id FROM gone g))
      AND NOT EXISTS (SELECT FROM pepsi.workqueue w WHERE w.body_id = b.body_id);
    RETURN NULL;
END $$;

CREATE TRIGGER workqueue_rows_deleted AFTER DELETE ON pepsi.workqueue
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION pepsi.workqueue_rows_deleted();

CREATE FUNCTION pepsi.workqueue_body_replaced() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pepsi
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    DELETE FROM pepsi.workqueue_body b
    WHERE b.body_id = OLD.body_id AND NOT EXISTS (SELECT FROM pepsi.workqueue w WHERE w.body_id = b.body_id);
    RETURN NULL;
END $$;

CREATE TRIGGER workqueue_body_replaced AFTER UPDATE OF body_id ON pepsi.workqueue
    FOR EACH ROW WHEN (OLD.body_id <> NEW.body_id) EXECUTE FUNCTION pepsi.workqueue_body_replaced();

-- The dispatcher ----------------------------------------------------------------------------------------------------

CREATE TABLE pepsi.dispatcher_epoch (
    only_row   boolean PRIMARY KEY DEFAULT true CHECK (only_row),  -- there is one row
    epoch      bigint NOT NULL,                       -- raised by every start of a dispatcher
    started_at timestamptz                            -- when that was
);
INSERT INTO pepsi.dispatcher_epoch (epoch) VALUES (0);

CREATE TABLE pepsi.stage_stats (
    stage        text COLLATE "C" PRIMARY KEY,        -- the stage's name
    messages     bigint NOT NULL DEFAULT 0,           -- answered for, with whatever status
    failures     bigint NOT NULL DEFAULT 0,           -- of these, with a failure
    strikes      bigint NOT NULL DEFAULT 0,           -- messages blamed for a crash or a hang
    crashes      bigint NOT NULL DEFAULT 0,           -- workers that ended unasked
    timeouts     bigint NOT NULL DEFAULT 0,           -- workers killed for a message that took too long
    requeues     bigint NOT NULL DEFAULT 0,           -- messages given back without having run
    microseconds bigint NOT NULL DEFAULT 0            -- time spent on the messages
);

CREATE TABLE pepsi.dispatch_stats (
    only_row          boolean PRIMARY KEY DEFAULT true CHECK (only_row),  -- there is one row
    stages_executed   bigint NOT NULL DEFAULT 0,      -- passes of a worker; a fused chain is one
    messages_in       bigint NOT NULL DEFAULT 0,      -- messages seen for the first time
    messages_finished bigint NOT NULL DEFAULT 0,      -- messages that went through
    messages_failed   bigint NOT NULL DEFAULT 0,      -- messages that failed for good
    flush_epoch       bigint NOT NULL DEFAULT 0,      -- the dispatcher that flushed last
    flush_number      bigint NOT NULL DEFAULT 0       -- and its how manieth flush that was: one counts once
);
INSERT INTO pepsi.dispatch_stats DEFAULT VALUES;

-- Configuration that lives in the database ---------------------------------------------------------------------------

CREATE TABLE pepsi.config_override (
    section    text COLLATE "C" NOT NULL,             -- of pepsi.conf, such as stage-relay
    key        text COLLATE "C" NOT NULL,             -- of that section
    value      text NOT NULL,                         -- as it would stand in the file
    changed_at timestamptz NOT NULL DEFAULT now(),    -- when it was set
    changed_by text NOT NULL DEFAULT session_user,    -- who set it
    PRIMARY KEY (section, key)
);

CREATE TABLE pepsi.settings (
    address text COLLATE "C" NOT NULL,                -- user@example.org, @example.org for a domain, * for everybody
    stage   text COLLATE "C" NOT NULL,                -- the stage whose option it is
    key     text COLLATE "C" NOT NULL,                -- an option of that stage that may be set so
    value   text NOT NULL,                            -- as it would stand in the file
    PRIMARY KEY (address, stage, key)
);

-- What stages keep --------------------------------------------------------------------------------------------------

CREATE TABLE pepsi.injected (
    message      text COLLATE "C" PRIMARY KEY,        -- the spool's id of a message that was put in
    workqueue_id bigint NOT NULL,                     -- as which row
    expires_at   timestamptz NOT NULL                 -- when the spool can no longer come up with it again
);
CREATE INDEX injected_expiry ON pepsi.injected (expires_at);

CREATE TABLE pepsi.origin_nonce (
    nonce      text COLLATE "C" PRIMARY KEY,          -- proves that a bounce answers mail of ours
    expires_at timestamptz NOT NULL                   -- when it proves nothing any more
);
CREATE INDEX origin_nonce_expiry ON pepsi.origin_nonce (expires_at);

CREATE TABLE pepsi.dns_address (
    host       text COLLATE "C" NOT NULL,             -- name of a mail exchanger
    address    inet NOT NULL,                         -- one of its addresses
    expires_at timestamptz NOT NULL,                  -- end of the record's time to live
    PRIMARY KEY (host, address)
);
CREATE INDEX dns_address_expiry ON pepsi.dns_address (expires_at);

CREATE TABLE pepsi.telemetry (
    feature    text COLLATE "C" PRIMARY KEY,          -- kind of a stage or name of an option, never a value
    uses       bigint NOT NULL DEFAULT 0,             -- how often it was used
    first_used date NOT NULL DEFAULT current_date,    -- on this day first
    last_used  date NOT NULL DEFAULT current_date     -- and on this day last
);

CREATE TABLE pepsi.whitelist (
    owner    text COLLATE "C" NOT NULL,               -- recipient whose list it is
    sender   text COLLATE "C" NOT NULL,               -- address, or @domain, that may write to the owner
    added_at timestamptz NOT NULL DEFAULT now(),      -- when it was put on
    PRIMARY KEY (owner, sender)
);

CREATE TABLE pepsi.alias (
    address text COLLATE "C" NOT NULL,                -- what is written to
    target  text COLLATE "C" NOT NULL,                -- where it goes; one row for each
    PRIMARY KEY (address, target)
);

CREATE TABLE pepsi.list (
    address   text COLLATE "C" PRIMARY KEY,           -- what posts are sent to
    title     text NOT NULL DEFAULT '',               -- for people
    moderated boolean NOT NULL DEFAULT false          -- whether posts wait for an approval
);

CREATE TABLE pepsi.list_member (
    list      text COLLATE "C" NOT NULL REFERENCES pepsi.list ON DELETE CASCADE,  -- the list's address
    member    text COLLATE "C" NOT NULL,              -- the subscriber's address
    posts     boolean NOT NULL DEFAULT true,          -- may write to the list
    receives  boolean NOT NULL DEFAULT true,          -- gets copies
    moderates boolean NOT NULL DEFAULT false,         -- may approve posts
    joined_at timestamptz NOT NULL DEFAULT now(),     -- when the subscription began
    PRIMARY KEY (list, member)
);
