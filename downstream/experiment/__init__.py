"""A learner on a task over seeds and folds: runs, results, cards, plots."""
