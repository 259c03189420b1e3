"""Reading files into documents: groups of files, the reading of each, and what is checked when all are read."""
