"""Rows of a table, asked of the store that keeps it: set at a time, cached, within limits."""
