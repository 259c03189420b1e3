"""Figures of every task family, a file each: nested dictionaries of floats and ints; docs/downstream/metrics.md."""
