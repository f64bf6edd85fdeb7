"""The edges: where documents go, one vendor or format a module. Never imports Spark."""
