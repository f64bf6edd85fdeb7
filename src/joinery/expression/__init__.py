"""Expressions: parsed, typed and evaluated. Knows neither plans nor Spark."""
