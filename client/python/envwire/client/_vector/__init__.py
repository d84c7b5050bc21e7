"""Remote vector environments: sharding, batches, infos and recovery."""
