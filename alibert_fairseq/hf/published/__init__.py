"""What a published folder holds, and what becomes of it: the parts of `alibert load`."""
