"""Names that a model finds: any token-classification folder of transformers, or a pipeline of EDS-pseudo."""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from alibert_common.errors import InputError, readable, reason
from alibert_common.provenance import read_manifest
from preprocess.pseudonymisation.spans import RANKS, Span

# What published models call names and places, in the words of EDS-pseudo.
USUAL = {
    "PER": "NOM", "PERSON": "NOM", "PATIENT": "NOM", "DOCTOR": "NOM", "LAST_NAME": "NOM", "NAME": "NOM",
    "FIRST_NAME": "PRENOM", "LOC": "VILLE", "CITY": "VILLE", "HOSPITAL": "HOPITAL", "STREET": "ADRESSE",
    "ADDRESS": "ADRESSE", "EMAIL": "MAIL", "PHONE": "TEL", "NIR": "SECU", "NSS": "SECU",
}  # fmt: skip
OVERLAP = 64  # subwords that two windows of a long line share
Find = Callable[[str], Iterator[Span]]


@lru_cache(1)
def tagger(folder: Path, is_eds: bool = False) -> Find:
    """The spans that a model finds in a text. Raises InputError for a folder that is none."""
    return _eds_pseudo(folder) if is_eds else _token_classifier(folder)


def _token_classifier(folder: Path) -> Find:
    """A model that tags each line by itself; a long line is read in windows."""
    try:
        from transformers import pipeline

        model = pipeline(
            "token-classification", model=str(folder), aggregation_strategy="first", stride=OVERLAP, device=-1,
            trust_remote_code=False, local_files_only=True, model_kwargs={"use_safetensors": True},
        )  # fmt: skip
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise InputError(
            f"{readable(folder)}: no token-classification model with weights in safetensors ({reason(error)[:200]})."
        ) from None
    labels = labels_of(folder, {name.removeprefix("B-").removeprefix("I-") for name in model.model.config.label2id})

    def find(text: str) -> Iterator[Span]:
        start = 0
        for line in text.split("\n"):
            for found in model(line) if line.strip() else ():
                if label := labels.get(found["entity_group"]):
                    yield Span(start + found["start"], start + found["end"], label)
            start += len(line) + 1

    return find


def check_tagger(folder: Path) -> None:
    """Raise InputError for a folder that is no model, or one of other things. The model itself is not loaded."""
    config = read_manifest(folder / "config.json")
    labels = config.get("id2label")
    if not isinstance(labels, dict) or not (folder / "model.safetensors").is_file():
        raise InputError(f"{readable(folder)}: no token-classification model with config.json and model.safetensors.")
    labels_of(folder, {str(name).removeprefix("B-").removeprefix("I-") for name in labels.values()})


def labels_of(folder: Path, names: set[str]) -> Mapping[str, str]:
    """The kinds of identifiers that a model's labels are. Raises InputError for a model without any."""
    known = {name: name if name in RANKS else USUAL.get(name.upper().replace("-", "_"), "") for name in names}
    found = {name: label for name, label in known.items() if label}
    if not found:
        shown = ", ".join(sorted(names)[:8])
        raise InputError(f"{readable(folder)}: its labels are {shown}; give a model with labels such as NOM.")
    return found


def _eds_pseudo(folder: Path) -> Find:
    """A pipeline of edsnlp with the components of EDS-pseudo."""
    try:
        import edsnlp
    except ImportError:
        raise InputError("EDS-pseudo needs its own packages; install them with `pip install eds-pseudo`.") from None
    nlp = edsnlp.load(str(folder))

    def find(text: str) -> Iterator[Span]:
        for entity in nlp(text).ents:
            if entity.label_ in RANKS:
                yield Span(entity.start_char, entity.end_char, entity.label_)

    return find
