"""A run in Spark's real-time mode: what it refuses, its query, its loop."""
