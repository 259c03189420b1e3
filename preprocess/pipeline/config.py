"""The YAML file that describes a corpus: its sources, and the options of the stages."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from alibert_common.errors import InputError
from alibert_common.yaml_config import read_yaml
from preprocess.documents.names import is_source_name

OF_A_SOURCE = ("ingest", "clean", "pseudonymise")  # the stages that every source goes through by itself
HIDING = "pseudonymise"  # the stage that only runs when the file has options for it
STAGES = (*OF_A_SOURCE, "deduplicate", "mix", "train_tokenizer", "binarize")  # in their order


@dataclass(frozen=True)
class Source:
    """A corpus: its files and folders, and {stage: {option: value}} of the stages it goes through by itself."""

    name: str
    type: str  # of text, in the user's words, for the table
    paths: tuple[Path, ...]
    options: dict[str, dict]
    stages: tuple[str, ...] = ()  # that the source names, with options or without


class CorpusFile:
    """What the file says: `sources` in its order, and {stage: {option: value}} in `options`, for all sources."""

    def __init__(self, path: Path):
        """Raises InputError, with the place in the file, for what cannot be meant."""
        self.path = path
        self.content = read_yaml(path)
        self._refuse_others(self.content, ("sources", *STAGES), "")
        self.options = {stage: self._options(self.content, stage) for stage in STAGES}
        sources = self._mapping(self.content, "sources")
        if not sources:
            self.refuse("", "names no sources; write each with its `paths:` under `sources:`")
        self.sources = [self._source(name, self._mapping(sources, name, "sources")) for name in sources]
        for source in self.sources:
            if self.is_pseudonymised(source) and not (self.options[HIDING] | source.options[HIDING]).get("key"):
                self.refuse(HIDING, "give `key:`, the file of the secret key")
        if "tokenizer" in self.options["binarize"] and "train_tokenizer" in self.content:
            self.refuse("binarize", "a tokenizer is given, so none is trained; leave one of the two out")

    def is_pseudonymised(self, source: Source) -> bool:
        """Whether the file asks for it, for all sources or for this one."""
        return HIDING in self.content or HIDING in source.stages

    def place(self, path: object) -> Path:
        """A path of the file, which is relative to its folder."""
        return self.path.parent / str(path)

    def refuse(self, place: str, fault: str) -> NoReturn:
        """Raise InputError; `place` is where in the file."""
        raise InputError(f"{self.path}: {place}{': ' if place else ''}{fault}.")

    def _source(self, name: str, content: Mapping) -> Source:
        place = f"sources, {name}"
        self._refuse_others(content, ("type", "paths", *OF_A_SOURCE), place)
        paths = content.get("paths")
        paths = [paths] if isinstance(paths, str) else paths
        options = {stage: self._options(content, stage, place) for stage in OF_A_SOURCE}
        named = {"table", "query"} & options["ingest"].keys()
        if named and "database" not in options["ingest"]:
            self.refuse(place, "`table:` and `query:` are for a database; give `database:`, its URL")
        if len(named) > 1:
            self.refuse(place, "`table:` and `query:` name the notes twice; give one of them")
        if paths is None and "database" in options["ingest"]:
            paths = []
        elif not isinstance(paths, list) or not paths or not all(isinstance(path, str) for path in paths):
            self.refuse(place, "give `paths:`, a file or folder or a list of them, or a database under `ingest:`")
        if not is_source_name(name):
            self.refuse(place, "no spaces, commas, '=' or '/' can be in the name of a source, nor a point at its start")
        return Source(name, str(content.get("type") or ""), tuple(map(self.place, paths)), options, tuple(content))

    def _options(self, holder: Mapping, stage: str, place: str = "") -> dict:
        """Options by their names on the command line; `min_words` is `min-words` too."""
        content = self._mapping(holder, stage, place)
        options = {name.replace("_", "-"): value for name, value in content.items()}
        if len(options) < len(content):
            self.refuse(place or stage, "an option is there twice, with - and with _")
        return options

    def _mapping(self, holder: Mapping, name: object, place: str = "") -> dict:
        content = holder.get(name)
        if content is not None and not isinstance(content, dict):
            self.refuse(place, f"{name}: write `name: value` lines under it")
        return content or {}

    def _refuse_others(self, content: Mapping, known: tuple[str, ...], place: str) -> None:
        for name in content:
            if name not in known:
                self.refuse(place, f"{name}: not known; there are {', '.join(known)}")
