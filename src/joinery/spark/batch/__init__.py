"""A run in micro-batches: queries made, started, watched; a batch staged, sent, committed."""
