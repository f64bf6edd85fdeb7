"""The runtime: the only package that imports pyspark."""
