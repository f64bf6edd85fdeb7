"""A plan as text, picture and page."""
