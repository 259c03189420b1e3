"""Repeated documents and lines, near-duplicates, and sentences of benchmarks."""
