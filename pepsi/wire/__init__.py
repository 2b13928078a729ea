"""The protocol between dispatcher and worker, for both ends. Pure."""
