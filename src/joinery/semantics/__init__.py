"""What documents and events must be, in plain Python: the reference. No network, no clock."""
