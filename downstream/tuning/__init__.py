"""The search of settings on dev."""
