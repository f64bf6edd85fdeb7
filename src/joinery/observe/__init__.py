"""What an operator sees of a run: metrics, health over HTTP, lineage."""
