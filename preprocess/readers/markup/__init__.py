"""XML and HTML: their text, their records, and the corpora that come in them."""
