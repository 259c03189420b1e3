"""Run a recipe as a job: on this machine, or on N nodes of a Slurm cluster (`python -m alibert_fairseq.launch`)."""
