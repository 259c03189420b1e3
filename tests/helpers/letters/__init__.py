"""Invented French hospital letters: their prose, their layouts, and their files in five formats."""
