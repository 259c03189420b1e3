"""Turning a data-bin into training samples."""
