"""The adapters that turn reactor callbacks into engine events and engine commands into acts."""
