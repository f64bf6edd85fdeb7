"""What flows: data types, changes and documents. Standard library only."""
