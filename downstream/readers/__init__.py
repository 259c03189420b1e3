"""Readers of annotated text, one file a format. All keep character offsets into the raw text.

A reader takes the path of a split, a file or a folder, what it needs to know of the recipe, and a Counter for what it
reads past; it raises InputError naming file and line.
"""

from downstream.readers import brat, iob, jsonl

ENTITIES = {"brat": brat.read, "iob": iob.read, "jsonl": jsonl.read}  # documents with entities
