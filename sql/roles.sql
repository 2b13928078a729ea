-- Roles of their own for the programs, each with the least it needs. Made on request only: with one role that owns the
-- schema everything works as well. It can be run again at any time, and is after an upgrade where the roles are in use.
--
-- They may log in but have no password, so that none can until the server is told how: by ALTER ROLE ... PASSWORD, or
-- by pg_hba.conf.

DO $$
DECLARE
    wanted name;
BEGIN
    FOREACH wanted IN ARRAY '{pepsi_dispatch,pepsi_stage,pepsi_ingress,pepsi_admin}'::name[] LOOP
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = wanted) THEN
            EXECUTE pg_catalog.format('CREATE ROLE %I LOGIN', wanted);
        END IF;
    END LOOP;
    -- To end the sessions of workers that a dead dispatcher left behind. It starts them, so it can act as them anyway.
    IF NOT pg_catalog.pg_has_role('pepsi_dispatch', 'pepsi_stage', 'MEMBER') THEN
        GRANT pepsi_stage TO pepsi_dispatch;
    END IF;
END $$;

REVOKE ALL ON SCHEMA pepsi FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pepsi FROM PUBLIC;
GRANT USAGE ON SCHEMA pepsi TO pepsi_dispatch, pepsi_stage, pepsi_ingress, pepsi_admin;
-- They run with the rights of the caller, so that being allowed to call one allows nothing by itself.
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pepsi TO pepsi_dispatch, pepsi_stage, pepsi_ingress, pepsi_admin;
GRANT SELECT ON pepsi.schema_release, pepsi.config_override TO pepsi_dispatch, pepsi_stage, pepsi_ingress;
GRANT SELECT ON pepsi.dispatcher_epoch TO pepsi_stage;

GRANT SELECT, UPDATE (status, claim, timeout, stage, state) ON pepsi.workqueue TO pepsi_dispatch;
GRANT SELECT (body_id), DELETE ON pepsi.workqueue_body TO pepsi_dispatch;
GRANT SELECT, INSERT, UPDATE ON pepsi.dispatcher_epoch, pepsi.stage_stats, pepsi.dispatch_stats TO pepsi_dispatch;

GRANT SELECT, INSERT, DELETE,
    UPDATE (body_id, claim, timeout, size, stage, status, mail_from, recipients, header_from, subject, state,
        header_block)
    ON pepsi.workqueue TO pepsi_stage;
GRANT SELECT, INSERT, DELETE ON pepsi.workqueue_body TO pepsi_stage;
GRANT SELECT, INSERT, UPDATE, DELETE ON pepsi.origin_nonce, pepsi.dns_address, pepsi.whitelist, pepsi.list_member
    TO pepsi_stage;
GRANT SELECT ON pepsi.settings, pepsi.alias, pepsi.list TO pepsi_stage;
GRANT SELECT, INSERT, UPDATE ON pepsi.telemetry TO pepsi_stage;

GRANT INSERT, SELECT (workqueue_id) ON pepsi.workqueue TO pepsi_ingress;
GRANT INSERT, SELECT (body_id) ON pepsi.workqueue_body TO pepsi_ingress;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA pepsi TO pepsi_ingress, pepsi_admin;
GRANT SELECT, INSERT, DELETE ON pepsi.injected TO pepsi_ingress;

GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA pepsi TO pepsi_admin;
REVOKE INSERT, UPDATE, DELETE ON pepsi.schema_release FROM pepsi_admin;
