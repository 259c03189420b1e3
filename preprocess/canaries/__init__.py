"""Invented sentences with invented secrets, planted in a training text to measure what a model remembers of it."""
