"""What `trainer.py` does around an update, a save and a load: one callback per file."""
