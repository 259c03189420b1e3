"""Repairs of trainings on several processes, and of their reading threads."""
