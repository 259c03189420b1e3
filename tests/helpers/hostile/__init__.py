"""Damaged and hostile files, and what is watched while they are read."""
