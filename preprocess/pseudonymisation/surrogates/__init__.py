"""Plausible replacements of identifiers, the same for a patient in all documents."""
