"""Models, the training loop, and the protocols it follows."""
