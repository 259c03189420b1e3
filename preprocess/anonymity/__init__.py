"""Which tokens of a data-bin a model may learn: those whose words many patients have."""
