"""What PostgreSQL is asked, on a real server."""
