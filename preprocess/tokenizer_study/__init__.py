"""The measures, tables and pictures of `python -m preprocess.compare_tokenizers`."""
