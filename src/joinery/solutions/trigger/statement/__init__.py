"""The SQL of rdbms-trigger: documents, affected keys, expressions, dialects."""
