"""`alibert audit` as a whole, on a training of seconds: figures, pages, resume, and what it refuses."""

import html
import json
import re
import shutil

import numpy as np
import pytest
from patients_training import audit, figures, make_data_bin, train, write_documents

import alibert
from alibert_common.errors import InputError
from alibert_common.report.html import render
from alibert_common.yaml_config import read_yaml
from alibert_fairseq.audit.page import LANGUAGES, PHRASES, Page
from alibert_fairseq.audit.texts import choose, of_reference, read_data
from alibert_fairseq.hf.export import export
from alibert_fairseq.lineage.run import read_run
from preprocess.databin.document_records import read_records
from preprocess.databin.taken_out import take_out


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    folder = tmp_path_factory.mktemp("audited")
    save = train(folder, make_data_bin(folder))
    status, output = audit(folder, save, "--documents", "110")
    assert status == 0, output[-3000:]
    return folder


def test_the_figures_of_a_training(audited):
    found = figures(audited)
    assert found["model"]["updates"] == 12 and found["data"]["documents"] == 260 and found["data"]["patients"] == 130
    assert found["data"]["sources"] == {"lettres": 320} and found["data"]["documents_without_patient"] == 0
    by_copies = {one["copies"]: one for one in found["exposure"]["by_copies"]}
    assert by_copies.keys() == {1, 8} and set(found["exposure"]["along"]) == {"4", "8", "12"}
    for one in by_copies.values():
        assert 0 <= one["low"] <= one["value"] <= one["high"] <= 9 and one["canaries"] == 3
    documents, patients = (found["membership"][f"{unit}, calibrated"] for unit in ("document", "patient"))
    assert documents["members"] == 110 and documents["others"] == 60 and patients["others"] == 30
    assert 0.3 < documents["auc"]["low"] < documents["auc"]["value"] < documents["auc"]["high"] < 0.7
    assert {one["kind"] for one in found["extraction"] if one["cases"]} == {"name", "number"}
    assert found["tokenizer"]["subwords"] > 20 and found["cost"]["seconds"] > 0


def test_the_reference_has_one_half_of_the_patients_and_members_are_of_the_other(audited):
    data = read_data([audited / "data-bin"])
    kept = [record.id for record in read_records(audited / "audit-reference/data-bin/train")]
    all_ids = [record.id for record in read_records(audited / "data-bin/train")]
    half = of_reference(data.train[0].patients)
    assert kept == [name for name, is_kept in zip(all_ids, half, strict=True) if is_kept] and 90 < len(kept) < 170
    members = {text.patient for text in choose(data, 110, 32, 0, seed=1) if text.member}
    assert len(members) > 50 and not members & set(data.train[0].patients[half].tolist())
    assert not any("canary" in name for name in all_ids) and data.train[1].left_out.all()


def test_both_pages_have_the_same_figures_and_load_nothing(audited):
    pages = {language: (audited / f"audit/audit.{language}.html").read_text(encoding="utf-8") for language in LANGUAGES}
    numbers = {
        language: re.findall(r"\d[\d.,\u202f]*\d|\d", html.unescape(re.sub(r"base64,[^\"]*", "", page)))
        for language, page in pages.items()
    }
    plain = [number.replace(",", "") for number in numbers["en"]]
    assert plain == [number.replace("\u202f", "").replace(",", ".") for number in numbers["fr"]] and len(plain) > 100
    for language, page in pages.items():
        assert (
            f'<html lang="{language}">' in page
            and "http:" not in page
            and "https:" not in page
            and "<script" not in page
        )
    assert "social security" in pages["en"] and "sécurité sociale" in pages["fr"]


def test_every_phrase_is_in_both_languages_with_the_same_values():
    for name, texts in read_yaml(PHRASES).items():
        assert texts.keys() == set(LANGUAGES), name
        assert len({frozenset(re.findall(r"{(\w+)}", text)) for text in texts.values()}) == 1, name


@pytest.mark.long
def test_a_training_with_a_budget_has_a_reference_of_as_many_updates(tmp_path):
    save = train(tmp_path, make_data_bin(tmp_path), 200, "save", "--total-num-update", "200", "--budget-minutes", "0.1")
    status, output = audit(tmp_path, save, "--documents", "110")
    assert status == 0, output[-3000:]
    made, trained = read_run(save), read_run(tmp_path / "audit-reference/checkpoints")
    assert max(made.checkpoints) == max(trained.checkpoints) == figures(tmp_path)["model"]["updates"] > 0


def test_a_second_call_does_nothing(audited):
    before = (audited / "audit/audit.json").read_bytes()
    status, output = audit(audited, audited / "save", "--documents", "110")
    assert status == 0 and "there already" in output and (audited / "audit/audit.json").read_bytes() == before


@pytest.mark.long
def test_another_output_of_the_same_reference_has_the_same_figures(audited):
    before = (audited / "audit/audit.json").read_bytes()
    assert alibert.audit(audited / "save", audited / "audit", documents=110) == json.loads(before)
    status, output = audit(
        audited, audited / "save", "--documents", "110", "--reference", audited / "audit-reference", output="other"
    )
    assert status == 0 and figures(audited, "other") | {"cost": 0} == figures(audited) | {"cost": 0}


def test_a_step_that_is_done_is_not_taken_again(audited, monkeypatch):
    from alibert_fairseq.audit import command, measures

    run, data_bin = read_run(audited / "save"), audited / "data-bin"
    trained = audited / "audit-reference/checkpoints/checkpoint_last.pt"
    data, checkpoints = read_data([data_bin]), {"audited": run.checkpoints[12], "reference": trained}
    subject = measures.Subject(run, data_bin, data, checkpoints, choose(data, 110, 32, 0, seed=1), 1)
    arguments = subject, [data_bin], audited / "stopped"
    taken, take = [], measures.Measure.__call__

    def some(self, step):
        if len(taken) == 4:
            raise KeyboardInterrupt
        taken.append(step)
        take(self, step)

    monkeypatch.setattr(measures.Measure, "__call__", some)
    with pytest.raises(KeyboardInterrupt):
        command.audit(*arguments)
    assert not (audited / "stopped").exists()
    first, taken[:] = list(taken), []
    monkeypatch.setattr(measures.Measure, "__call__", lambda self, step: (taken.append(step), take(self, step)))
    command.audit(*arguments)
    assert not set(taken) & set(first) and len(taken) > 3
    ours, whole = (json.loads((audited / name / "audit.json").read_text()) for name in ("stopped", "audit"))
    assert ours | {"cost": 0} == whole | {"cost": 0}


def test_what_cannot_be_audited_is_refused_in_one_sentence(tmp_path, audited):
    for name, change, sentence in (
        ("few", {"documents": 60}, "only .* documents can be tested as members, .* needs 100"),
        ("none", {}, "holds no validation text, so no document is held out"),
    ):
        (tmp_path / name).mkdir()
        data_bin = make_data_bin(tmp_path / name, **change)
        save = train(tmp_path / name, data_bin, updates=4)
        for file in data_bin.glob("valid.*") if name == "none" else ():
            file.unlink()
        status, output = audit(tmp_path / name, save)
        assert status == 2 and re.search(rf"^error: {data_bin}.*{sentence}", output, re.MULTILINE), output
        assert not list((tmp_path / name).glob("*audit*"))
    shutil.copytree(audited / "save", tmp_path / "save")
    status, output = audit(tmp_path, tmp_path / "save", "--data", tmp_path / "gone")
    assert status == 2 and f"error: {tmp_path}/gone: the data-bin of this training is gone" in output
    (tmp_path / "other").mkdir()
    status, output = audit(tmp_path, tmp_path / "save", "--data", make_data_bin(tmp_path / "other", documents=300))
    assert status == 2 and "is not the data-bin of this training" in output


def test_a_source_where_some_patients_are_missing_is_refused(tmp_path):
    from corpus_helpers import write_tokenizer

    from preprocess.binarize import binarize

    files = [write_documents(tmp_path / "a.jsonl", 3, 1), write_documents(tmp_path / "b.jsonl", 3, 2, patients=False)]
    binarize(write_tokenizer(tmp_path / "t"), {"train": files, "valid": files[:1]}, tmp_path / "bin")
    with pytest.raises(ValueError, match="3 of 9 documents of the source lettres have no patient, such as b-0"):
        read_data([tmp_path / "bin"])


def test_documents_that_were_taken_out_are_no_members(audited, tmp_path):
    (tmp_path / "bin").mkdir()
    take_out(audited / "data-bin", tmp_path / "bin", {"train": range(40)})
    data = read_data([tmp_path / "bin"])
    assert data.train[0].left_out[:40].all() and not of_reference(data.train[0].patients[:40]).any()
    assert data.documents() == 220 and data.patients() == 110 and data.sources == {"lettres": 280}


def test_too_few_patients_on_a_side_are_refused(audited):
    data = read_data([audited / "data-bin"])
    data.valid[0].patients.flags.writeable = True
    data.valid[0].patients[:] = 7
    with pytest.raises(InputError, match="only 1 patients can be held out, and the audit needs 20 on each side"):
        choose(data, 110, 32, 0, seed=1)


def test_documents_without_patients_count_as_patients(tmp_path):
    data = read_data([make_data_bin(tmp_path, documents=5, held_out=2, each=0, patients=False)])
    assert data.patients() == 5 and data.unnamed == 7 and not np.concatenate([s.left_out for s in data.train]).any()


def test_the_card_of_an_export_has_the_figures_of_its_own_audit(audited, tmp_path):
    checkpoint, tokenizer = audited / "save/checkpoint_last.pt", audited / "data-bin"
    export(checkpoint, tokenizer, tmp_path / "model", audit=audited / "audit/audit.json")
    card = (tmp_path / "model/README.md").read_text(encoding="utf-8")
    rate = figures(audited)["membership"]["patient, calibrated"]["auc"]
    interval = f"{rate['value']:.2f} [{rate['low']:.2f}, {rate['high']:.2f}]"
    assert f"| membership of a patient, AUC (0.5 is chance) | {interval} |" in card
    assert "| exposure of invented secrets in 8 documents, bits (1.44 is chance) |" in card
    with pytest.raises(InputError, match="audit.json: is no audit of .*checkpoint_1_4.pt; give that of this"):
        export(audited / "save/checkpoint_1_4.pt", tokenizer, tmp_path / "none", audit=audited / "audit/audit.json")
    with pytest.raises(InputError, match="the audit tested the last weights, not their --average"):
        export(checkpoint, tokenizer, tmp_path / "none", audit=audited / "audit/audit.json", average=True)
    assert not (tmp_path / "none").exists()


def test_a_page_of_many_sources_names_the_largest(audited):
    found = figures(audited)
    found["exposure"] = None
    found["data"] |= {"sources": {f"ward-{n}": n for n in range(1, 31)}, "documents_without_patient": 465}
    text = {language: render(Page(found, language).report()) for language in LANGUAGES}
    assert "ward-30 (30), " in text["en"] and "ward-20" not in text["en"] and "20 more (210)" in text["en"]
    assert "20 autres (210)" in text["fr"] and "No canary was planted" in text["en"]
    assert "465 documents do not name" in text["en"] and "per patient</th>" not in text["en"]
    found["data"]["anonymity"] = {"min_patients": 5, "ngram_words": 3}
    assert "no run of up to 3 words, that fewer than 5 patients have" in render(Page(found, "en").report())
