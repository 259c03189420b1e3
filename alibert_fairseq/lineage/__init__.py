"""Which updates saw a document, and a training without it."""
