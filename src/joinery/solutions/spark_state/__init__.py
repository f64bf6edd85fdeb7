"""Join state in Spark's own state store: the plan lowered to a kernel program."""
