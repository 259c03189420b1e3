"""Repairs of checkpoints: how they are saved, loaded, recognised as damaged, and resumed."""
