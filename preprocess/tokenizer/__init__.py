"""The normalizer, the subword models, the special tokens, and loading of a tokenizer."""
