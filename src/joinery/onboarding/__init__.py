"""What a table of a database or a topic looks like, for `joinery table add`."""
