"""PDF files: runs of text with their boxes, columns and tables, paragraphs."""
