"""The tests. Each folder has its own needs: unit none, db a PostgreSQL, process real workers, system all of it."""
