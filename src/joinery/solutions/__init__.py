"""Named ways to keep join state."""
