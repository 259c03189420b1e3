"""Identifiers that have a form: numbers, addresses, dates, hospitals."""
