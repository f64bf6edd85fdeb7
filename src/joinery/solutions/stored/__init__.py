"""Join state in a store: the driver that works a batch, and the protocol of a store."""
