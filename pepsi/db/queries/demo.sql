-- What the demo asks of its own private database. No other program runs these.

-- name: demo_keep_trail
-- Write down every step of every message from now on. A message's row shows only where it stands at the moment.
DROP SCHEMA IF EXISTS pepsi_demo CASCADE;
CREATE SCHEMA pepsi_demo;
CREATE TABLE pepsi_demo.trail (
    step         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workqueue_id bigint NOT NULL,
    stage        text,
    status       text,
    at           timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE FUNCTION pepsi_demo.step() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    -- After a DELETE there is no NEW, and stage and status stay empty: the message is gone.
    INSERT INTO pepsi_demo.trail (workqueue_id, stage, status)
    VALUES (coalesce(NEW.workqueue_id, OLD.workqueue_id), NEW.stage, NEW.status);
    RETURN NULL;
END $$;
CREATE TRIGGER pepsi_demo_step AFTER INSERT OR UPDATE OF stage, status OR DELETE ON pepsi.workqueue
    FOR EACH ROW EXECUTE FUNCTION pepsi_demo.step();

-- name: demo_trail
-- All steps so far, in the order in which they were taken, with seconds since 1970.
SELECT workqueue_id, stage, status, extract(epoch FROM at)::float8 FROM pepsi_demo.trail ORDER BY step;
