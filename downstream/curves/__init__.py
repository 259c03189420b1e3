"""Scores against the amount of pretraining, and against the number of training documents."""
