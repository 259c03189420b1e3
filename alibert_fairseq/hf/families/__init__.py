"""Our models and the Hugging Face classes that they become: names, numbers, heads."""
