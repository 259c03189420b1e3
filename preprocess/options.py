"""Types of command-line options that several stages have."""

import argparse
from collections.abc import Callable


def at_least(smallest: int) -> Callable[[str], int]:
    """For argparse: an integer that is not below `smallest`."""

    def integer(argument: str) -> int:
        if (number := int(argument)) < smallest:
            raise argparse.ArgumentTypeError(f"'{argument}': give {smallest} or more")
        return number

    return integer
