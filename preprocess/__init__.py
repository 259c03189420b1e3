"""From raw French biomedical text to a data-bin that fairseq trains on. Imports neither torch nor fairseq."""
