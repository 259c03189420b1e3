"""Training tasks: which samples an objective sees."""
