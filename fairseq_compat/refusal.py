"""The one error of this package."""


class Refusal(ValueError):
    """An option or a file that fairseq cannot be given here. The message is one sentence with the remedy."""
