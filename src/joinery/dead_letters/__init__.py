"""Changes that could not be used: written, listed, replayed, dropped."""
