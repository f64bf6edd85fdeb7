"""The command line: what a user types, and what is shown."""
