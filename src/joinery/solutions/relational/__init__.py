"""Join state in relational tables: SQLite and PostgreSQL."""
