"""Test sentences that stand in other text: in whatever case and spacing, and only if they are long enough."""

import re
from collections import Counter

import pytest
from task_helpers import ner_task

from alibert_common.errors import InputError
from downstream.data.annotated_text import AnnotatedText
from downstream.data.contamination import SHORTEST, Sought, in_files, in_training, sentences_of, text_files
from downstream.data.splits import Split

LONG = "Le patient de 40 ans a une hépatite aiguë."
OTHER = "La patiente prend de l'aspirine depuis deux ans."
SHORT = "Le foie est normal."
TASK = ner_task("anatomy")


def items_of(*texts):
    return [TASK.example(AnnotatedText(f"d{number}", text, []), Counter()) for number, text in enumerate(texts)]


def part(*texts):
    return Split(items_of(*texts), Counter())


def test_sentences_end_at_points_and_lines_and_short_ones_are_left_out():
    assert len(SHORT) < SHORTEST <= len(LONG)
    text = f"{LONG} {SHORT} {OTHER}\n{LONG.upper()}"
    assert list(sentences_of(text)) == [LONG, OTHER, LONG.upper()]


def test_a_copy_is_found_inside_a_longer_line_whatever_its_case_and_spaces():
    sought = Sought(TASK, items_of(LONG, f"{OTHER} {LONG}", SHORT))
    sought.look_in(f"Voici : {LONG.upper().replace(' ', chr(160) + ' ')} Fin du cas.")
    assert sought.report() == {
        "sentences": 2, "found": 1, "items": 3, "items_touched": ["d0", "d1"], "examples": [LONG]
    }  # fmt: skip


RAW = "Une toux (sans fièvre ni râle) s'est installée, traitée par 12,5 mg d'un sirop.5 Dr. C. l'a vu."


def test_a_sentence_of_tagged_words_is_found_in_raw_text(tmp_path):
    """Of column files the words are known, and not what stood between them."""
    words = re.findall(r"\w+|\S", RAW)
    (tmp_path / "test.iob").write_text("".join(f"{word}\tO\n" for word in words), encoding="utf-8")
    items = TASK.read(tmp_path / "test.iob", "iob", Counter())
    sought = Sought(TASK, items)
    sought.look_in(f"Cas 3. {RAW} Fin.")
    found = sought.report()
    assert found["sentences"] == found["found"] == 1 and found["items_touched"] == [TASK.id_of(items[0])]
    (shown,) = found["examples"]
    assert shown == "Une toux (sans fièvre ni râle) s'est installée, traitée par 12, 5 mg d'un sirop."


def test_a_line_that_is_shorter_than_the_sentence_with_its_spaces_is_read_too():
    tagged = "L ' état ( grave ) d ' un foie ( gras ) ."
    raw = "L'état (grave) d'un foie (gras)."
    sought = Sought(TASK, items_of(tagged))
    sought.look_in(raw)
    assert len(raw) < SHORTEST <= len(tagged) and sought.report()["found"] == 1


def test_a_sentence_that_another_holds_is_found_too():
    longer = f"Selon sa mère, {LONG.lower()}"
    sought = Sought(TASK, items_of(LONG, longer))
    sought.look_in(longer)
    assert sought.report()["found"] == 2


def test_test_is_looked_for_in_train_and_dev():
    splits = {"train": part(SHORT), "dev": part(OTHER), "test": part(LONG, OTHER)}
    assert in_training(TASK, splits)["items_touched"] == ["d1"]
    splits["train"] = part(f"{SHORT} {LONG}")
    assert in_training(TASK, splits)["items_touched"] == ["d0", "d1"]
    assert in_training(TASK, {"train": part(LONG), "dev": part(LONG)}) is None


def test_several_tasks_are_looked_for_in_files_and_folders_at_once(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one.txt").write_text(f"{SHORT}\n{LONG} {SHORT}\n", encoding="utf-8")
    (tmp_path / "two.txt").write_text(OTHER, encoding="utf-8")
    first, second = Sought(TASK, items_of(LONG)), Sought(TASK, items_of(OTHER, SHORT))
    seen = []
    files = text_files([tmp_path / "a", tmp_path / "two.txt"])
    in_files([first, second], files, lambda lines: seen.append(1) or lines)
    assert (first.report()["found"], second.report()["found"], seen) == (1, 1, [1])


def test_text_that_is_missing_or_not_utf8_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match="no such file, nor a folder of .txt files; check --pretraining-text"):
        text_files([tmp_path])
    (tmp_path / "a.txt").write_bytes("é".encode("latin-1"))
    with pytest.raises(InputError, match="a.txt: not UTF-8"):
        in_files([], text_files([tmp_path]))


def test_a_test_split_of_short_texts_only_has_nothing_to_look_for():
    sought = Sought(TASK, items_of(SHORT))
    sought.look_in(LONG)
    assert sought.report()["sentences"] == 0
