"""Outbound SMTP: replies, the client, what a reply means for a recipient."""
