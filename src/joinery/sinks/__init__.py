"""Targets of documents and events, one a module. Never waits, retries or decides when."""
