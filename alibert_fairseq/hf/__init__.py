"""Between checkpoints of this plugin and Hugging Face folders."""
