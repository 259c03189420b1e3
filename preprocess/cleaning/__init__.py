"""The rules of `python -m preprocess.clean`."""
