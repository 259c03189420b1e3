"""What learns a task and answers it: an encoder with a head, and the baselines it has to beat."""
