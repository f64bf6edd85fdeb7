"""The documents in a sink against the database that they come from."""
