"""PubMedQA (Jin et al., 2019): json files of PMID -> question, abstract in parts, and yes, no or maybe."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from alibert_common.errors import InputError
from downstream.data.annotated_text import Labels
from downstream.data.examples import LabelledText
from downstream.data.readers.records import distinct, field, json_of, texts

QUESTIONS = "ori_pqal.json"
TEST = "test_ground_truth.json"


@distinct
def read(path: Path, labels: Labels, counts: Counter) -> Iterator[tuple[str, LabelledText]]:
    """The question and, as its second text, the parts of the abstract, a line each; the conclusion is not given.

    The official split is in the file's names: test_ground_truth.json, which holds PMID -> answer only, stands for those
    questions of the ori_pqal.json beside it; ori_pqal.json beside it for the others, the 500 for training (counted).
    Any other file of questions, such as a fold's train_set.json, is read whole.
    """
    content = _object(path)
    if content and all(isinstance(value, str) for value in content.values()):
        file = path.with_name(QUESTIONS)
        questions = _object(file)
        for pmid, answer in content.items():
            if field(questions.get(pmid), "final_decision", str, f"{file}, key {pmid!r}") != answer:
                raise InputError(
                    f"{path}, key {pmid!r}: the answer is {answer!r} but {questions[pmid]['final_decision']!r} in "
                    f"{file}; take both files from one release."
                )
        path, content = file, {pmid: questions[pmid] for pmid in content}
    else:
        left_out = _object(path.with_name(TEST)) if path.name == QUESTIONS and path.with_name(TEST).is_file() else {}
        counts["questions that are the official test"] += len(content.keys() & left_out.keys())
        content = {pmid: record for pmid, record in content.items() if pmid not in left_out}
    for pmid, record in content.items():
        place = f"{path}, key {pmid!r}"
        answer = labels.keep(field(record, "final_decision", str, place), place, counts, "texts")
        if answer is not None:
            abstract = "\n".join(texts(record, "CONTEXTS", place))
            yield place, LabelledText(pmid, field(record, "QUESTION", str, place), (answer,), abstract)


def _object(file: Path) -> dict:
    content = json_of(file)
    if not isinstance(content, dict):
        raise InputError(f"{file}: not an object of PMID -> question; give the file as PubMedQA has it.")
    return content
