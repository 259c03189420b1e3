"""Losses and the figures logged beside them."""
