"""The solution `kv`: join state in a key-value store, over three methods of that store."""
