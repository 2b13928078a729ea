"""The dispatcher's page of metrics over HTTP."""
