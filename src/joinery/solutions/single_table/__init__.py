"""The solution `dynamodb`: join state as items of one table, found by its generic indexes."""
