"""One report engine: sections of sentences, tables and pictures, as HTML or Markdown."""
