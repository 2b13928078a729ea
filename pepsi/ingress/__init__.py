"""The SMTP door: ESMTP in, rows out."""
