"""The solution rdbms-trigger: documents made by SQL in the database itself."""
