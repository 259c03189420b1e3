"""LibreOffice without a window, and archives whose bytes depend on their parts alone."""

import io
import shutil
import subprocess
import zipfile
from collections.abc import Sequence
from pathlib import Path

AT_ONCE = 100  # files of one call; one that LibreOffice dies of ends its call


def settle(content: bytes) -> bytes:
    """The archive with all its parts dated 1980."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as before, zipfile.ZipFile(file, "w") as after:
        for part in before.infolist():
            kind = zipfile.ZIP_STORED if part.filename == "mimetype" else zipfile.ZIP_DEFLATED
            after.writestr(zipfile.ZipInfo(part.filename), before.read(part), kind)
    return file.getvalue()


def convert(files: Sequence[Path], ending: str, folder: Path, profile: Path) -> list[Path]:
    """Convert files to another format, such as "pdf" or "txt:Text", into a folder; returns the new ones in order."""
    if not shutil.which("soffice"):
        raise SystemExit("error: soffice is missing; install LibreOffice (apt-get install libreoffice-writer).")
    folder.mkdir(parents=True, exist_ok=True)
    for start in range(0, len(files), AT_ONCE):
        command = [
            "soffice",
            f"-env:UserInstallation={profile.resolve().as_uri()}",
            "--headless",
            "--convert-to",
            ending,
        ]
        command += ["--outdir", str(folder), *map(str, files[start : start + AT_ONCE])]
        done = subprocess.run(command, capture_output=True, text=True, timeout=900)
        if done.returncode:
            raise SystemExit(f"error: soffice ended with {done.returncode}: {done.stderr[-500:]}")
    made = [folder / f"{file.stem}.{ending.partition(':')[0]}" for file in files]
    if missing := [file for file in made if not file.exists()]:
        raise SystemExit(f"error: soffice wrote no {missing[0]}; {len(missing)} are missing.")
    return made
