"""The fluent door: an app, its tables, and streams that are built step by step."""
