"""SQuAD json, versions 1.1 and 2.0 (Rajpurkar et al., 2016, 2018), also the form of FQuAD and of BioBERT's BioASQ."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from alibert_common.errors import InputError
from downstream.data.examples import ReadingQuestion
from downstream.data.readers.records import distinct, field, json_of


@distinct
def read(path: Path, counts: Counter) -> Iterator[tuple[str, ReadingQuestion]]:
    """A question about one context each; the answers of several annotators are the forms of one answer.

    Questions on one context are a group, wherever it stands: dev, drawn from train, has none of train's texts.
    Questions without an answer, which version 2.0 marks as impossible, have none, and are counted. An answer that does
    not stand at its answer_start is taken from where its text is nearest, and counted. Raises InputError for an answer
    whose text the context does not have, and for a question that is marked as impossible and has an answer.
    """
    for number, article in enumerate(field(json_of(path), "data", list, f"{path}"), 1):
        for paragraph in field(article, "paragraphs", list, place := f"{path}, entry {number} of data"):
            context = field(paragraph, "context", str, place)
            group = hashlib.sha256(context.encode()).hexdigest()
            for record in field(paragraph, "qas", list, place):
                name = field(record, "id", str, place)
                own = f"{path}, question {name!r}"
                answers = field(record, "answers", list, own)
                if answers and record.get("is_impossible"):
                    raise InputError(f"{own}: is_impossible is true but there are answers; remove one of the two.")
                forms = tuple(dict.fromkeys(field(answer, "text", str, own) for answer in answers))
                places = tuple(dict.fromkeys((0, *_place(answer, context, own, counts)) for answer in answers))
                counts["questions without an answer"] += not answers
                question, accepted = field(record, "question", str, own), (forms,) if forms else ()
                yield own, ReadingQuestion(name, question, (context,), accepted, places, group=group)


def _place(answer: dict, context: str, place: str, counts: Counter) -> tuple[int, int]:
    text, start = answer["text"], field(answer, "answer_start", int, place)
    starts = [match.start() for match in re.finditer(f"(?={re.escape(text)})", context)]  # overlapping ones too
    if not text.strip() or not starts:
        raise InputError(f"{place}: the answer {text!r} does not stand in the context; correct the answer.")
    nearest = min(starts, key=lambda place: abs(place - start))
    counts["answers moved to where their text stands"] += nearest != start
    return nearest, nearest + len(text)
