"""What tables and topics look like, for `joinery table add` and `joinery init --from`."""
