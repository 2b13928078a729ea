"""What PostgreSQL is asked: named statements, the schema, the private server. Knows no event loop."""
