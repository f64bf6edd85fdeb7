"""Products as SQL: which roots a change affects, and the documents of roots, per dialect."""
