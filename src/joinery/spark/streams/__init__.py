"""What a query of a stream asks while a batch runs: stores, functions of the user."""
