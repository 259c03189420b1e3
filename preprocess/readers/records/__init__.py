"""Records of named values: rows of a table, JSON objects."""
