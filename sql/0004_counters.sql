-- How many messages came and went the dispatcher reads off the server's own counters of the table: what they said last
-- time is kept, so that a difference can be added.

ALTER TABLE pepsi.dispatch_stats
    ADD COLUMN rows_inserted bigint NOT NULL DEFAULT 0,  -- pg_stat_get_tuples_inserted of the queue at the last flush
    ADD COLUMN rows_deleted  bigint NOT NULL DEFAULT 0;  -- pg_stat_get_tuples_deleted, likewise
