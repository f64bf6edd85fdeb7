"""Stores that streams ask for rows, one a module; the asker with its cache and limits."""
