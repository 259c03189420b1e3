"""Names that a model finds: any token-classification folder of transformers, or a pipeline of EDS-pseudo."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from alibert_common.errors import InputError, readable, reason
from alibert_common.provenance import read_manifest
from preprocess.pseudonymisation.spans import RANKS, Span, trimmed

# What published models call names and places, in the words of EDS-pseudo.
USUAL = {
    "PER": "NOM", "PERSON": "NOM", "PATIENT": "NOM", "DOCTOR": "NOM", "LAST_NAME": "NOM", "NAME": "NOM",
    "FIRST_NAME": "PRENOM", "LOC": "VILLE", "CITY": "VILLE", "HOSPITAL": "HOPITAL", "STREET": "ADRESSE",
    "ADDRESS": "ADRESSE", "EMAIL": "MAIL", "PHONE": "TEL", "NIR": "SECU", "NSS": "SECU",
}  # fmt: skip
TOKENIZERS = (
    "tokenizer.json", "vocab.txt", "vocab.json", "sentencepiece.bpe.model", "spiece.model", "spm.model",
    "tokenizer.model",
)  # fmt: skip
OVERLAP = 64  # subwords that two windows of a long line share; an eighth of the window where that is less
USUAL_LENGTH = 514  # positions of a model that does not say how many it has; RoBERTa's begin at 2
Find = Callable[[str], Iterator[Span]]


@lru_cache(2)
def tagger(folder: Path, is_eds: bool = False) -> Find:
    """The spans that a model finds in a text. Raises InputError for a folder that is none."""
    return _eds_pseudo(folder) if is_eds else _token_classifier(folder)


def _token_classifier(folder: Path) -> Find:
    """A model that tags each line by itself; a long line is read in windows."""
    model = _pipeline(folder)
    config, tokenizer = model.model.config, model.tokenizer
    positions = getattr(config, "max_position_embeddings", 0)
    tokenizer.model_max_length = min(tokenizer.model_max_length, (positions if positions > 0 else USUAL_LENGTH) - 2)
    stride = min(OVERLAP, tokenizer.model_max_length // 8)
    labels = labels_of(folder, {name.removeprefix("B-").removeprefix("I-") for name in config.label2id})

    def find(text: str) -> Iterator[Span]:
        start = 0
        for line in text.split("\n"):
            entities = model(line, stride=stride) if line.strip() else ()
            places = [(one["start"], one["end"], labels.get(one["entity_group"], "")) for one in entities]
            found = in_words(line, (place for place in places if place[2]))
            yield from (Span(start + begin, start + end, label) for begin, end, label in trimmed(line, found))
            start += len(line) + 1

    return find


def _pipeline(folder: Path) -> Any:
    """The pipeline of transformers, of files of the folder only. Raises InputError."""
    from safetensors import SafetensorError
    from transformers import AutoModelForTokenClassification, AutoTokenizer, TokenClassificationPipeline

    try:
        tokenizer = AutoTokenizer.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
        model, loaded = AutoModelForTokenClassification.from_pretrained(
            str(folder), use_safetensors=True, local_files_only=True, trust_remote_code=False, output_loading_info=True
        )
    except (OSError, ValueError, KeyError, ImportError, RuntimeError, SafetensorError) as error:
        raise InputError(
            f"{readable(folder)}: no token-classification model with weights in safetensors ({reason(error)[:200]})."
        ) from None
    wrong = [*loaded["missing_keys"], *(key for key, *_ in loaded["mismatched_keys"])]
    wrong += [name for name, weights in model.named_parameters() if not weights.isfinite().all()]
    if wrong:
        raise InputError(f"{readable(folder)}: its weights are not whole ({wrong[0]}); export the model again.")
    return TokenClassificationPipeline(model=model, tokenizer=tokenizer, aggregation_strategy="simple", device=-1)


def in_words(line: str, places: Iterable[tuple[int, int, str]]) -> Iterator[Span]:
    """The places in a line, widened to whole words: many models tag only the first subword of a word well.

    A word has the label of its first subword that has one.
    """
    last = 0
    for start, end, label in sorted(places):
        start = max(start, last)
        while last < start < end and line[start - 1].isalnum() and line[start].isalnum():
            start -= 1
        while start < end < len(line) and line[end - 1].isalnum() and line[end].isalnum():
            end += 1
        if any(map(str.isalnum, line[start:end])):
            yield Span(start, end, label)
            last = end


def check_tagger(folder: Path) -> None:
    """Raise InputError for a folder that is no model, or one of other things. The model itself is not loaded."""
    config = read_manifest(folder / "config.json")
    labels = config.get("id2label")
    if not isinstance(labels, dict) or not (folder / "model.safetensors").is_file():
        raise InputError(f"{readable(folder)}: no token-classification model with config.json and model.safetensors.")
    labels_of(folder, {str(name).removeprefix("B-").removeprefix("I-") for name in labels.values()})
    if not any((folder / name).is_file() for name in TOKENIZERS):
        raise InputError(
            f"{readable(folder)}: holds no tokenizer, such as tokenizer.json; copy it from the model's folder."
        )


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
        raise InputError("EDS-pseudo needs edsnlp and its own package; install them as its page says.") from None
    nlp = edsnlp.load(str(folder))

    def find(text: str) -> Iterator[Span]:
        for entity in nlp(text).ents:
            if entity.label_ in RANKS:
                yield Span(entity.start_char, entity.end_char, entity.label_)

    return find
