"""Documents: what every stage before the data-bin reads and writes, in shards."""
