"""Plain text for people: figures in words, tables in columns."""
