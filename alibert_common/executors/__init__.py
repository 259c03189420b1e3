"""Where the items of a stage run: in processes of this machine, or in jobs of a Slurm cluster."""
