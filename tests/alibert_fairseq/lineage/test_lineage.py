"""The update that first saw a document, against what a training was given; a training without documents."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from forked import finish, run
from mix_helpers import MixedText
from model_helpers import dictionary
from omegaconf import OmegaConf
from same_training import differences
from tiny_training import ENVIRONMENT, OPTIONS

from alibert_common.errors import InputError
from alibert_fairseq.data.masked_dataset import MaskedDataset
from alibert_fairseq.data.masking import MaskingRule
from alibert_fairseq.lineage.again import without_clock
from alibert_fairseq.lineage.documents import TrainingDocuments, as_in_data_bin
from alibert_fairseq.lineage.find import first_uses
from alibert_fairseq.lineage.retrain import prepare
from alibert_fairseq.lineage.run import Run, Update, read_run
from preprocess.databin.document_records import DocumentRecord, read_records, records_path, written_lines
from preprocess.documents.document import Document, patient_of
from preprocess.mixing.mix_file import split_name
from preprocess.pseudonymisation.documents import Pseudonymiser
from preprocess.pseudonymisation.settings import Settings
from preprocess.pseudonymisation.surrogates.secret_key import make_key, read_key

HELPERS = Path(__file__).parents[2] / "helpers"
PLUGIN = str(Path(__file__).parents[3] / "alibert_fairseq")
SAVES = [
    "--save-interval-updates",
    "7",
    "--keep-interval-updates",
    "-1",
    "--no-epoch-checkpoints",
    "--disable-validation",
]
FORMS = {
    "mix": (
        ["--update-freq", "2", "--causal-share", "0.3"],
        {"coeur": 12, "roman": 30}, {"coeur": 2.5, "roman": 0.5}, 1,
    ),
    "rows": (["--sample-break-mode", "complete_doc", "--pack-sequences"], {"coeur": 40}, None, 2),
    "electra": (
        ["--task", "electra", "--criterion", "electra", "--arch", "electra_tiny", "--generator-width-fraction", "1"],
        {"coeur": 40}, None, 1,
    ),
    "pairs": (
        ["--task", "segment_pairs", "--criterion", "segment_pairs", "--arch", "segment_bert_tiny", "--segments", "2"],
        {"coeur": 40}, None, 1,
    ),
}  # fmt: skip


def name_documents(text: MixedText, data_bin: int) -> dict[str, set[int]]:
    """Write the records of a data-bin; returns {id: its tokens}."""
    tokens = {}
    for corpus, documents in enumerate([*text.corpora, text.valid]):
        split = "valid" if corpus == len(text.corpora) else split_name(corpus)
        with written_lines(records_path(text.directory / split)) as lines:
            for number, document in enumerate(documents):
                name = f"{data_bin}-{split}-{number}"
                lines.write(DocumentRecord(name, split, f"p{number % 10}").line + "\n")
                tokens[name] = {token for line in document for token in line}
    return tokens


class Trained:
    """A recorded training of 30 updates on documents whose tokens tell them apart."""

    def __init__(self, place: Path, form: str):
        more, sizes, weights, data_bins = FORMS[form]
        texts = [MixedText(place / f"bin{n}", sizes, weights, seed=1 + 50 * n) for n in range(data_bins)]
        named = [name_documents(text, n) for n, text in enumerate(texts)]
        self.tokens = {name: tokens for one in named for name, tokens in one.items()}
        self.place, self.data = place, ":".join(str(text.directory) for text in texts)
        # The second data-bin has the tokens of the first, so the update says which of them it is.
        self.of_epoch = lambda epoch: set(named[(epoch - 1) % data_bins])
        self.options = [*OPTIONS, "--user-dir", PLUGIN, "--max-update", "30", "--total-num-update", "30", *SAVES, *more]
        command = [sys.executable, HELPERS / "recorded_training.py", place / "record", self.data]
        command += ["--save-dir", place / "save", *self.options]
        done = subprocess.run([*map(str, command)], env=ENVIRONMENT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]
        self.record = [json.loads(line) for line in (place / "record").read_text().splitlines()]

    def first(self, name: str, epochs: dict[int, int]) -> int | None:
        """The first update that was given a token of the document, by the record."""
        own = (
            line["update"]
            for line in self.record
            if self.tokens[name] & set(line["tokens"]) and name in self.of_epoch(epochs[line["update"]])
        )
        return next(own, None)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    return Trained(tmp_path_factory.mktemp("mix"), "mix")


LONG = [pytest.param(form, marks=pytest.mark.long) for form in FORMS if form != "mix"]


@pytest.fixture(scope="module", params=["mix", *LONG])
def trained(request, tmp_path_factory):
    form = request.param
    return request.getfixturevalue("mixed") if form == "mix" else Trained(tmp_path_factory.mktemp(form), form)


def test_the_named_update_is_the_first_that_was_given_the_document(trained):
    found = read_run(trained.place / "save")
    epochs = {update.number: update.epoch for update in found.updates}
    uses = {use.name: use for use in first_uses(found, trained.tokens, [])}
    assert len(found.updates) == 30 and max(epochs.values()) > 1
    for name, use in uses.items():
        assert use.update == trained.first(name, epochs), name
        assert bool(use.in_validation) == ("valid" in name)
        before = [made for made in (7, 14, 21, 28) if use.update and made < use.update]
        assert use.checkpoint_updates == (max(before) if before else None)
    assert len({use.update for use in uses.values()}) > 8


def without(trained, names: list[str], output: Path, *options: str) -> tuple[int, str]:
    """Retrain without the documents: exit code and output."""
    (trained.place / "names").write_text("\n".join(names) + "\n")
    command = [sys.executable, "-m", "alibert_fairseq.lineage.retrain", trained.place / "save", "--output", output]
    return finish([*command, "--without", trained.place / "names", *options], cwd=trained.place, env=ENVIRONMENT)


def chosen(trained) -> list[str]:
    """Two documents that the checkpoint of update 7 has not seen, and one to validate on."""
    uses = first_uses(read_run(trained.place / "save"), [name for name in trained.tokens if "valid" not in name], [])
    late = [use.name for use in uses if use.update and use.update > 7]
    return [*late[:2], "0-valid-3"]


def test_a_training_without_documents_equals_one_that_never_had_them(trained, tmp_path):
    names = chosen(trained)
    status, output = without(trained, names, tmp_path / "again")
    assert status == 0, output[-3000:]
    assert "3 documents taken out." in output and "The training starts after update 7." in output
    data = [tmp_path / "again/data-bin"]
    if not (data[0] / "dict.txt").exists():
        data = sorted(data[0].iterdir())
    for number, data_bin in enumerate(data):
        for file in data_bin.glob("*.bin"):
            before = np.fromfile(trained.place / f"bin{number}" / file.name, np.uint16)
            after = np.fromfile(file, np.uint16)
            kept = [n for n, record in enumerate(read_records(file.with_suffix(""))) if record.id]
            gone = [name for name in names if name.startswith(f"{number}-{file.stem}-")]
            assert len(list(read_records(file.with_suffix("")))) == len(kept) + len(gone)
            lost = set(before[after != before].tolist())
            assert lost - {2} == set().union(*(trained.tokens[name] for name in gone)) and set(
                after[after != before]
            ) <= {1}
    options = ["fairseq-train", ":".join(map(str, data)), "--save-dir", tmp_path / "never", *trained.options]
    run(*options, cwd=tmp_path, env=ENVIRONMENT)
    (only,) = (tmp_path / "never").glob("checkpoint_*_7.pt")  # that of before the start
    only.unlink()
    assert differences(tmp_path / "again/checkpoints", tmp_path / "never") == []


def lineage(trained, *words: object) -> tuple[int, str]:
    """`alibert lineage` on the training."""
    command = [sys.executable, "-m", "alibert_fairseq.lineage.find", trained.place / "save", *words]
    status, output = finish(command, cwd=trained.place, env=ENVIRONMENT)
    # The server of `forked` has imported fairseq-train, which turns its log on.
    return status, "".join(line for line in output.splitlines(keepends=True) if " | INFO | " not in line)


def test_the_sentences_of_a_document_and_of_a_patient(mixed):
    status, output = lineage(mixed, "--document", "0-train-3", "--patient", "p3")
    document, patient = output.splitlines()
    first = re.fullmatch(
        r"0-train-3: 1 document; first seen in update (\d+) of 30, epoch (\d); last checkpoint before: (\S+).*; "
        r"checkpoints that saw it: (\d)", document
    )  # fmt: skip
    assert status == 0 and first, output
    assert patient.startswith("p3: 6 documents, 2 of them validation text; first seen in update ")
    status, output = lineage(mixed, "--patient", "p3", "--json")
    use = json.loads(output)
    own = [one for one in first_uses(read_run(mixed.place / "save"), [f"0-train{n}-3" for n in ("", "1")], [])]
    assert use["update"] <= min(one.update for one in own if one.update) and use["documents"] == 6


def test_what_has_no_answer_is_refused_in_one_sentence(mixed, tmp_path):
    def refused(*words, place=mixed):
        status, output = lineage(place, *words)
        assert status == 2 and output.startswith("error: ") and output.count("\n") == 1, output
        return output

    assert "no document 'letter-1' (1 in all are missing)" in refused("--document", "letter-1")
    assert "--document: missing" in refused()
    assert "the data-bin of this training is gone" in refused("--document", "x", "--data", "elsewhere")
    copy = SimpleNamespace(place=tmp_path)
    shutil.copytree(mixed.place / "save", tmp_path / "save")
    log = tmp_path / "save/metrics.jsonl"
    lines = log.read_text().splitlines()
    changed = lines[4].replace('"tokens": ', '"tokens": 1')
    log.write_text("\n".join([*lines[:4], changed, *lines[5:]]) + "\n")
    assert "update 5 would read" in refused("--document", "0-train1-7", "--document", "0-train1-8", place=copy)
    log.write_text("\n".join([*lines[:3], *lines[4:]]) + "\n")
    assert "metrics.jsonl, line 4: update 5 where 4 is expected" in refused("--document", "0-train-1", place=copy)
    log.write_text("\n".join(lines[:-1]) + "\n")
    assert f"ends at update {len(lines) - 1}, and the last checkpoint has {len(lines)}" in refused(
        "--document", "0-train-1", place=copy
    )
    log.unlink()
    assert "so the order of the updates is unknown" in refused("--document", "0-train-1", place=copy)
    shutil.rmtree(tmp_path / "save")
    (tmp_path / "save").mkdir()
    assert "holds no checkpoint" in refused("--document", "0-train-1", place=copy)


def test_a_second_retraining_resumes_and_another_one_is_refused(mixed, tmp_path):
    names = chosen(mixed)
    status, output = without(mixed, names, tmp_path / "again", "--prepare")
    assert status == 0 and f"DATA_BIN={tmp_path / 'again/data-bin'}" in output
    start = (tmp_path / "again/checkpoints/checkpoint_last.pt").read_bytes()
    status, output = without(mixed, names, tmp_path / "again", "--prepare")
    assert status == 0 and "there already" in output
    assert (tmp_path / "again/checkpoints/checkpoint_last.pt").read_bytes() == start
    status, output = without(mixed, names[:1], tmp_path / "again", "--prepare")
    assert status == 2 and "retrain.json: of another retraining; give another --output." in output
    (mixed.place / "empty").write_text("\n")
    command = [
        sys.executable,
        "-m",
        "alibert_fairseq.lineage.retrain",
        mixed.place / "save",
        "--output",
        tmp_path / "n",
    ]
    status, output = finish([*command, "--without", mixed.place / "empty"], cwd=tmp_path, env=ENVIRONMENT)
    assert status == 2 and "empty: holds no name; write one a line." in output and not (tmp_path / "n").exists()


def test_without_a_checkpoint_before_them_the_training_begins_anew(mixed, tmp_path):
    first = next(name for name in mixed.tokens if mixed.first(name, dict.fromkeys(range(1, 31), 1)) == 1)
    status, output = without(mixed, [first], tmp_path / "again", "--prepare")
    assert status == 0 and "The training starts after update 0." in output
    assert not (tmp_path / "again/checkpoints").exists()


def test_fewer_tokens_are_masked_where_a_document_was_taken_out():
    """15 % of the 40 tokens that are left, <s> among them, not of 80."""
    table = dictionary()
    sequence = torch.tensor([0, *[1] * 40, *range(4, 43)])
    rows = type("Rows", (), {"sizes": np.array([80]), "__getitem__": lambda self, index: sequence})()
    sample = MaskedDataset(rows, table, MaskingRule(1.0, 0.0), 1, np.arange(4, 43))[0]
    assert (sample["target"] != 1).sum() == 6


def test_a_clock_becomes_the_updates_that_it_allowed():
    """10 updates in 30 of 60 seconds: 20 in all, of 40 that the schedules were written for."""
    end = {"max_update": 40}
    parts = {"task": end | {"budget_minutes": 1.0}, "optimization": {"max_update": 0, "stop_time_hours": 1 / 60}}
    parts |= {"model": {}, "lr_scheduler": end | {"total_num_update": 40.0, "warmup_updates": 4}}
    updates = [Update(number, 1, 100, 0, 3.0 * number) for number in range(1, 13)]
    found = without_clock(Run(Path(), OmegaConf.create(parts), {}, updates, {10: Path()}))
    assert found == OmegaConf.create(
        {
            "task": {"max_update": 20, "budget_minutes": 0.0},
            "optimization": {"max_update": 20, "stop_time_hours": 0.0},
            "model": {},
            "lr_scheduler": {"max_update": 20, "total_num_update": 20, "warmup_updates": 2},
        }
    )
    parts["task"]["budget_minutes"] = 0
    assert without_clock(Run(Path(), OmegaConf.create(parts), {}, updates, {10: Path()})) == OmegaConf.create(parts)


def test_a_patient_has_the_name_that_the_key_gave(tmp_path):
    make_key(tmp_path / "key")
    document = Document("a", "s", ["le patient"], metadata={"patient": "42"})
    pseudonymised, _ = Pseudonymiser(Settings(), read_key(tmp_path / "key")).of(document)
    assert as_in_data_bin([" 42.0"], tmp_path / "key") == [patient_of(pseudonymised)]
    assert as_in_data_bin(["42"], None) == ["42"] != [patient_of(pseudonymised)]


def test_a_data_bin_is_found_by_any_form_of_its_path(mixed, monkeypatch):
    monkeypatch.chdir(mixed.place)
    place = mixed.data.split(":")[0].removeprefix(f"{mixed.place}/")
    documents, prefixes = TrainingDocuments(f".//{place}"), [f".//{place}/{split_name(n)}" for n in (0, 1)]
    assert [documents.reading(prefix).first for prefix in prefixes] == [0, len(documents.places[f"{place}/train"])]


def test_an_output_of_something_else_and_a_text_without_documents_are_refused(mixed, tmp_path):
    run, some = read_run(mixed.place / "save"), chosen(mixed)
    (tmp_path / "again/checkpoints").mkdir(parents=True)
    with pytest.raises(InputError, match="again: holds other files; give another --output"):
        prepare(run, some, [], tmp_path / "again")
    every = [name for name in mixed.tokens if "valid" not in name]
    with pytest.raises(InputError, match="no document would be left to train on"):
        prepare(run, every, [], tmp_path / "none")
    assert not (tmp_path / "none").exists()
