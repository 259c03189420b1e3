"""French or not, on 2,000 lines of four languages: how often cleaning/language.py is right, and other libraries.

    python tests/campaigns/language.py fr=FOLDER en=FOLDER es=FOLDER it=FOLDER [--compare]

Each folder holds .txt files, UTF-8, a sentence a line; --lines of them are drawn a language, 500 if not said, as many
from each file, of at least 40 characters. `--compare` also asks each library that is installed of: pycld2, py3langid,
langdetect, simplemma, lingua-language-detector. Time is the processor's, one thread, over the same lines.
docs/results/language.md has the sources of the lines and the tables.
"""

import argparse
import random
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from preprocess.cleaning.language import ENOUGH_LETTERS, _detector, _has_french_words, foreign_lines, is_french

SHORTEST = 40  # characters: what many corpora have as their shortest line
LENGTHS = ((40, 60), (60, 80), (80, 120), (120, 10_000))  # characters


def draw(folder: Path, count: int, seed: int) -> list[str]:
    """Different lines, shared out equally among the files of a folder."""
    files = sorted(folder.glob("*.txt"))
    lines = []
    for number, file in enumerate(files):
        long = sorted({line for line in file.read_text(encoding="utf-8").split("\n") if len(line) >= SHORTEST})
        share_of_file = count * (number + 1) // len(files) - count * number // len(files)
        if len(long) < share_of_file:
            raise SystemExit(f"error: {file}: {len(long)} lines of {SHORTEST} characters; {share_of_file} are needed.")
        lines += random.Random(seed).sample(long, share_of_file)
    return lines


def pycld2() -> Callable[[str], bool]:
    module = import_module("pycld2")
    return lambda line: module.detect(line, hintLanguage="fr", bestEffort=True)[2][0][1] == "fr"


def py3langid() -> Callable[[str], bool]:
    module = import_module("py3langid")
    return lambda line: module.classify(line)[0] == "fr"


def langdetect() -> Callable[[str], bool]:
    module = import_module("langdetect")
    module.DetectorFactory.seed = 0
    return lambda line: module.detect(line) == "fr"


def simplemma() -> Callable[[str], bool]:
    detector = import_module("simplemma.language_detector").LanguageDetector(("fr", "en", "es", "it"))
    return lambda line: detector.main_language(line) == "fr"


def lingua() -> Callable[[str], bool]:
    detector = import_module("lingua").LanguageDetectorBuilder.from_all_languages().build()
    return lambda line: detector.detect_language_of(line).name == "FRENCH"


def lid176() -> Callable[[str], bool]:
    """The model that preprocess.cleaning.language asks, alone: its likeliest language."""
    return lambda line: _detector().detect(line.lower())[0]["lang"] == "fr"


def report(name: str, french: Callable[[str], bool], lines: dict[str, list[str]]) -> None:
    """Print the share of right answers by language and length."""
    french("Le patient va bien.")  # loads the model
    start = time.process_time()
    asked = [(language, line) for language, drawn in lines.items() for line in drawn]
    right = [(language, len(line), french(line) is (language == "fr")) for language, line in asked]
    seconds = time.process_time() - start
    megabytes = sum(len(line.encode()) for _, line in asked) / 1e6
    print(f"{name}: {share(right)} of {len(right):,}, {megabytes / seconds:.2f} MB/s")
    for language in lines:
        of_language = [answer for answer in right if answer[0] == language]
        by_length = [share([a for a in of_language if low <= a[1] < high]) for low, high in LENGTHS]
        print(f"  {language} {share(of_language)}   {'  '.join(by_length)}")


def share(answers: list[tuple[str, int, bool]]) -> str:
    return f"{sum(right for _, _, right in answers) / len(answers):.4f} ({len(answers)})" if answers else "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="LANGUAGE=FOLDER")
    parser.add_argument("--lines", type=int, default=500, help="a language (default 500: a miss is 0.2 %%)")
    parser.add_argument("--seed", type=int, default=1, help="of the draw (default 1: any will do)")
    parser.add_argument("--compare", action="store_true", help="also the other libraries that are installed")
    options = parser.parse_args()
    folders = dict(folder.split("=", 1) for folder in options.folders)
    lines = {language: draw(Path(folder), options.lines, options.seed) for language, folder in folders.items()}
    print("characters of a line:", ", ".join(f"{low} to {high}" for low, high in LENGTHS))
    report("preprocess.cleaning.language.is_french", is_french, lines)
    for language, drawn in lines.items():
        long = [line for line in drawn if sum(map(str.isalpha, line)) >= ENOUGH_LETTERS]
        dropped = sum(bool(foreign_lines([line])) for line in long)
        words = sum(map(_has_french_words, long))
        print(f"  {language}: preprocess.clean judges {len(long)} lines alone, {words} by words, and drops {dropped}")
    for library in (lid176, pycld2, py3langid, langdetect, simplemma, lingua) if options.compare else ():
        try:
            report(library.__name__, library(), lines)
        except ModuleNotFoundError:
            print(f"{library.__name__}: not installed")


if __name__ == "__main__":
    main()
