"""Databases as sources: their own logs, captured into complete change files."""
