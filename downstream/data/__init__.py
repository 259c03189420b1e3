"""Data sets: readers, examples, spans, splits."""
