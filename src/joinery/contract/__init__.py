"""What readers of a product may rely on: its contract, in the formats that others read."""
