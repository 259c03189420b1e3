"""The parts of `python -m preprocess.corpus`: the YAML file, the steps, the checks, the report."""
