"""`python -m fairseq_compat`: what was found here, what is repaired and what cannot be, one line each."""

import platform

from fairseq_compat import is_active
from fairseq_compat.repairs import LIMITS, REPAIRS, installed

FOUND = ("fairseq", "hydra-core", "omegaconf", "antlr4-python3-runtime", "torch", "numpy")


def lines() -> list[str]:
    """The report."""
    report = [f"found: Python {platform.python_version()}"]
    report += [f"found: {name} {installed(name) or '(not installed)'}" for name in FOUND]
    remedy = "install the project with `pip install .`, editable or not"
    inactive = f"cannot repair: the import hook is not active ({remedy})"
    report.append("found: the import hook is active" if is_active() else inactive)
    report += [f"{repair.state()}: {repair.what} ({_reason(repair)})" for repair in REPAIRS]
    return report + [f"cannot repair: {limit} ({instead})" for limit, instead in LIMITS.items()]


def _reason(repair) -> str:
    if repair.state() == "not installed":
        return f"no {repair.distribution} here"
    if repair.state() == "cannot repair":
        return f"written for {repair.distribution} {repair.release}, found {installed(repair.distribution)}"
    return repair.why


if __name__ == "__main__":
    print("\n".join(lines()))
