"""The folder of hostile files: files/KIND/EXPECTED_KIND_NUMBER.ENDING, a canary, and the port that payloads call."""

import random
from pathlib import Path

from hostile import bomb_kinds, damage_kinds, office_kinds, pdf_kinds, record_kinds, rtf_kinds
from hostile.given import SECRET, Given, Kind

ALL: dict[str, Kind] = {}
for module in (damage_kinds, bomb_kinds, office_kinds, pdf_kinds, rtf_kinds, record_kinds):
    ALL |= module.KINDS
PORT = "port.txt"


def make(folder: Path, seed: int, port: int) -> int:
    """Write all files; returns their number."""
    (folder / "canary").mkdir(parents=True)
    (folder / "canary" / "secret.txt").write_text(f"{SECRET}\n", encoding="utf-8")
    (folder / PORT).write_text(f"{port}\n", encoding="utf-8")
    count = 0
    for name, kind in ALL.items():
        place = folder / "files" / name
        place.mkdir(parents=True)
        for number in range(kind.number):
            draw = random.Random(f"{seed}/{name}/{number}")
            made = kind.make(Given(draw, number, f"repere{name}{number:03d}", folder.resolve(), port))
            path = place / f"{made.expected}_{name}_{number:03d}.{made.ending}"
            path.write_bytes(made.content) if isinstance(made.content, bytes) else made.content(path)
            count += 1
    (folder / "files" / "link" / "ring").symlink_to(".")  # a folder in itself
    return count
