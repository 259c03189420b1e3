"""What all packages share: files, provenance, output folders, executors, reports. Imports neither torch nor fairseq."""
