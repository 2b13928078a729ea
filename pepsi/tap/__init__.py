"""Where everything is joined: command lines and services."""
