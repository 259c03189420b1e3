"""What an encoder has to beat."""
