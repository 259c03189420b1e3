"""The mix of corpora: its file, its weights, its reader, its picture."""
