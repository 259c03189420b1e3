"""What all packages share: files, provenance, output folders, executors, reports. Imports neither torch nor fairseq."""

__version__ = "0.2.0.dev0"
