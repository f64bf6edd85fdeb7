"""What a user declares, as values."""
