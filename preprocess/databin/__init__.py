"""Documents to the data set that fairseq-train reads."""
