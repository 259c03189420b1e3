"""One encoder, and what each objective puts on top of it."""
