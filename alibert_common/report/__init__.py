"""The report engine: sections of paragraphs, tables and pictures, rendered as one HTML page or as Markdown."""
