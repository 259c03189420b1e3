"""The parts of `python -m preprocess.compare_tokenizers`: what is measured, and how it is shown."""
