"""A corpus as its file describes it, as the commands that make it."""

import shlex
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from alibert_common.cli import OptionParser, named_path
from preprocess.pipeline.config import CorpusFile, Source

# What follows from a stage's place among the others, so that the file cannot say it.
GIVEN = {"output", "source", "help", "annotated"}
GIVEN_TO = {"binarize": {"mix", "train", "valid"}}
ENGINE = {"workers", "slurm", "partition", "account", "time", "sbatch"}  # the command's, for every stage


@dataclass(frozen=True)
class Step:
    """One command: a stage, for one source or for all of them together."""

    stage: str
    command: ModuleType  # with the functions `command_line` and `run`
    words: tuple[str, ...]
    options: Namespace
    source: str = ""

    @property
    def output(self) -> Path:
        """The directory it writes."""
        return self.options.output

    def made(self) -> int | None:
        """When its output was made, None where there is none."""
        manifest = self.output / "manifest.json"
        return manifest.stat().st_mtime_ns if manifest.is_file() else None

    def __str__(self) -> str:
        return shlex.join(["python", "-m", f"preprocess.{self.stage}", *self.words])


class Steps:
    """The commands for a file. `command_of` gives that of a stage; `engine` holds the options of where they run."""

    def __init__(self, file: CorpusFile, output: Path, engine: Namespace, command_of: Callable[[str], ModuleType]):
        self.file, self.output, self.engine, self.command_of = file, output, engine, command_of

    def __iter__(self) -> Iterator[Step]:
        """The steps in order. Raises InputError for an option that a stage does not have, or does not take so."""
        output, sources = self.output, self.file.sources
        for source in sources:
            to = output / "documents" / source.name
            yield self._step("ingest", to, *source.paths, "--source", source.name, source=source)
        for source in sources:
            yield self._step("clean", output / "clean" / source.name, output / "documents" / source.name, source=source)
        cleaned = {source.name: output / "clean" / source.name for source in sources}
        for source in filter(self.file.is_pseudonymised, sources):
            to = output / "pseudonymised" / source.name
            yield self._step("pseudonymise", to, cleaned[source.name], source=source)
            cleaned[source.name] = to
        yield self._step("deduplicate", output / "unique", *cleaned.values())
        yield self._step("mix", output / "mixed", output / "unique")
        tokenizer: list[object] = []
        if "tokenizer" not in self.file.options["binarize"]:
            yield self._step("train_tokenizer", output / "tokenizer", output / "mixed")
            tokenizer = ["--tokenizer", output / "tokenizer"]
        yield self._step("binarize", output / "data-bin", *tokenizer, "--mix", output / "mixed")

    def _step(self, stage: str, to: Path, *words: object, source: Source | None = None) -> Step:
        own = source.options[stage] if source else {}
        place = f"sources, {source.name}, {stage}" if source and own else stage
        command = self.command_of(stage)
        parser = command.command_line()
        parser.error = lambda message: self.file.refuse(place, message)  # type: ignore[method-assign]
        spelled = [*map(str, words), "--output", str(to)]
        for name, value in (self.file.options[stage] | own).items():
            spelled += self._spelled(parser, stage, place, name, value)
        options = parser.parse_args(spelled)
        for name in ENGINE & vars(options).keys():
            setattr(options, name, getattr(self.engine, name))
        return Step(stage, command, tuple(spelled), options, source.name if source else "")

    def _spelled(self, parser: OptionParser, stage: str, place: str, name: str, value: object) -> list[str]:
        """An option of the file as words: `also: [web]`, `core: [a, b]`, `benchmark: {name: path}`, `cased: true`."""
        option = f"--{name}"
        known = parser.options.get(option)
        if known is None:
            self.file.refuse(place, f"{name}: no such option; `python -m preprocess.{stage} --help` lists them")
        if known.dest in GIVEN | ENGINE | GIVEN_TO.get(stage, set()):
            self.file.refuse(place, f"{name}: not for this file, because preprocess.corpus says it itself")
        if value is None or isinstance(value, bool) != known.flag:
            self.file.refuse(place, f"{name}: give it {'true or false' if known.flag else 'a value'}")
        if isinstance(value, bool):
            return [option] if value else []
        if known.kind is named_path:
            value = list(self._named(place, name, value))
        elif isinstance(value, dict):
            value = [f"{key}={content}" for key, content in value.items()]
        if isinstance(value, list) and known.kind is Path and not (known.many or known.repeated):
            self.file.refuse(place, f"{name}: give one path")
        several = value if isinstance(value, list) else [value]
        values = [str(self.file.place(single) if known.kind is Path else single) for single in several]
        if known.many:
            return [option, *values]
        if not known.repeated:
            values = [",".join(values)]
        return [f"{option}={single}" for single in values]

    def _named(self, place: str, name: str, value: object) -> Iterator[str]:
        """NAME=PATH of {name: path}, also with several paths of a name."""
        if not isinstance(value, dict):
            self.file.refuse(place, f"{name}: write `name: path` lines under it")
        for key, paths in value.items():
            for path in paths if isinstance(paths, list) else [paths]:
                yield f"{key}={self.file.place(path)}"
