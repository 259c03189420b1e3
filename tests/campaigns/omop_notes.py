"""A million notes in SQLite and in PostgreSQL, read with five kills: docs/results/databases.md.

    python tests/campaigns/omop_notes.py DIR [--notes 1000000] [--kills 5] [--seed 1]

Needs the programs of a PostgreSQL server (Debian: postgresql), SQLAlchemy and psycopg. The server runs on a port of its
own, with a password, as the user `postgres` if this one is root. Each table is read once without a kill, and once with
kills at random moments; both outputs must have the same bytes. The password must be in no file, log or error.
"""

import argparse
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from preprocess.documents.document import SHARD_SUFFIX, document_files

PASSWORD, USER = "Hunter2-ne-doit-pas-se-voir", "lecteur"
PORT = 54329
COLUMNS = "note_id, person_id, note_date, note_title, note_text"
WORDS = "patient douleur fièvre toux examen normal traitement surveillance scanner biopsie repos sortie dose".split()
CREATE = (
    "CREATE TABLE note (note_id BIGINT PRIMARY KEY, person_id BIGINT, note_date DATE, note_title TEXT, note_text TEXT)"
)


def notes(count: int, seed: int) -> Iterator[tuple]:
    """Invented notes of some 300 characters, of a tenth as many patients."""
    draw = random.Random(seed)
    for number in range(count):
        lines = [" ".join(draw.choices(WORDS, k=12)).capitalize() + "." for _ in range(draw.randint(2, 5))]
        day = f"20{draw.randrange(10, 25)}-{draw.randrange(1, 13):02}-{draw.randrange(1, 29):02}"
        yield 3 * number + 1, draw.randrange(count // 10 + 1), day, "CR", f"Note {number}.\n" + "\n".join(lines)


def make_sqlite(path: Path, count: int, seed: int) -> str:
    """A file with the table; its URL."""
    connection = sqlite3.connect(path)
    connection.execute(CREATE)
    connection.executemany("INSERT INTO note VALUES (?, ?, ?, ?, ?)", notes(count, seed))
    connection.commit()
    connection.close()
    return f"sqlite:///{path}"


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """A server with its data in a folder; the URL of its database, which has no password in it."""
    as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    programs = Path(shutil.which("initdb") or "/usr/lib/postgresql/15/bin/initdb").resolve().parent
    folder.mkdir(parents=True)
    if as_user:
        shutil.chown(folder, "postgres")
        for above in folder.parents:
            above.chmod(above.stat().st_mode | 0o011)
    (folder / "password").write_text(PASSWORD)
    (folder / "password").chmod(0o644)
    data = folder / "data"

    def program(name: str, *words: str) -> None:
        subprocess.run([*as_user, str(programs / name), *words], check=True, stdout=subprocess.DEVNULL)

    program("initdb", "-D", str(data), "-U", USER, "-A", "scram-sha-256", f"--pwfile={folder}/password", "-E", "UTF8")
    program("pg_ctl", "-D", str(data), "-l", f"{folder}/log", "-w", "-o", f"-p {PORT} -k {folder}", "start")
    (folder / "password").unlink()
    try:
        yield f"postgresql+psycopg://127.0.0.1:{PORT}/postgres"
    finally:
        program("pg_ctl", "-D", str(data), "-m", "immediate", "stop")


def fill_postgres(count: int, seed: int) -> None:
    """The same table on the server."""
    import psycopg

    with psycopg.connect(host="127.0.0.1", port=PORT, dbname="postgres", user=USER, password=PASSWORD) as connection:
        connection.execute(CREATE)
        with connection.cursor().copy(f"COPY note ({COLUMNS}) FROM STDIN") as copy:
            for note in notes(count, seed):
                copy.write_row(note)


def command(url: str, output: Path) -> list[str]:
    """The command of a user."""
    options = ["--database", url, "--output", str(output), "--workers", "2"]
    return [sys.executable, "-m", "preprocess.ingest", *options]


def environment() -> dict[str, str]:
    """User and password, where they belong."""
    return {**os.environ, "ALIBERT_DATABASE_USER": USER, "ALIBERT_DATABASE_PASSWORD": PASSWORD}


def read_killed(
    url: str, output: Path, kills: int, shards: int, draw: random.Random, log: Path
) -> tuple[int, list[str]]:
    """Read the table of so many shards, and kill the command with all its processes at random moments between them.

    Returns how often it was killed, and the files that told the password after a kill.
    """
    done, told = 0, list[str]()
    for kill in range(kills + 1):
        with open(log, "ab") as errors:
            process = subprocess.Popen(
                command(url, output), env=environment(), stdout=errors, stderr=errors, start_new_session=True
            )
            while kill < kills and process.poll() is None and written(output) < (kill + 1) * shards / (kills + 2):
                time.sleep(0.05)
            try:
                process.wait(None if kill == kills else draw.uniform(0, 1))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                done += 1
                told += map(str, telling(output.parent))
    return done, told


def written(output: Path) -> int:
    """The shards of an output that is not whole."""
    return len(list(output.parent.glob(f".{output.name}.work/*/*{SHARD_SUFFIX}")))


def telling(folder: Path) -> list[Path]:
    """The files, also of unfinished work, that tell the password."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "omop.db"]
    return [path for path in files if PASSWORD.encode() in path.read_bytes()]


def measure(name: str, url: str, folder: Path, kills: int, draw: random.Random) -> dict:
    """Read a table without and with kills, and compare."""
    log = folder / f"{name}.log"
    started = time.perf_counter()
    done = subprocess.run(command(url, folder / f"{name}-whole"), env=environment(), capture_output=True)
    seconds = time.perf_counter() - started
    log.write_bytes(done.stdout + done.stderr)
    shards = len(document_files([folder / f"{name}-whole"]))
    killed, told = read_killed(url, folder / f"{name}-killed", kills, shards, draw, log)
    whole, again = (
        [path.read_bytes() for path in document_files([folder / f"{name}-{how}"])] for how in ("whole", "killed")
    )
    kept = json.loads((folder / f"{name}-whole" / "manifest.json").read_text())["kept"]["note"]
    return {
        "database": name, "notes": kept["documents"], "MB": round(kept["bytes"] / 1e6, 1), "seconds": round(seconds, 1),
        "kills": killed, "same bytes": whole == again, "telling": told,
    }  # fmt: skip


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--notes", type=int, default=1_000_000, help="number of notes (default: %(default)s)")
    parser.add_argument("--kills", type=int, default=5, help="number of kills (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the notes and the kills (default: %(default)s)")
    options = parser.parse_args()
    folder, draw = options.folder.absolute(), random.Random(options.seed)
    folder.mkdir(parents=True)
    rows = [
        measure("SQLite", make_sqlite(folder / "omop.db", options.notes, options.seed), folder, options.kills, draw)
    ]
    with postgres(folder / "server") as url:
        fill_postgres(options.notes, options.seed)
        rows.append(measure("PostgreSQL", url, folder, options.kills, draw))
    shutil.rmtree(folder / "server")
    told = [str(path) for path in telling(folder)]
    print(json.dumps({"rows": rows, "files with the password": told}, indent=1))
    sys.exit(bool(told) or not all(row["same bytes"] and not row["telling"] for row in rows))


if __name__ == "__main__":
    main()
