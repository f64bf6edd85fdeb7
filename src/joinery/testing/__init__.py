"""The public test kit: a driver without Spark, generators, the conformance suite."""
