"""Real corpora, where they are beside the checkout, read as docs/reference/corpora.md says: all their documents."""

import pytest
from reader_helpers import read

from preprocess.documents.filters import MetadataFilter


@pytest.mark.parametrize("part, emea, medline", [("train", 11, 833), ("dev", 12, 832), ("test", 15, 833)])
def test_quaero_in_brat(shared_data, part, emea, medline):
    got = read(shared_data / "fr_ner" / "quaero" / part)
    names = [document.id.partition("/")[0] for document in got.documents]
    assert (names.count("EMEA"), names.count("MEDLINE")) == (emea, medline) and len(names) == emea + medline
    assert got.counts == {"files beside the texts (.ann)": emea + medline, "files beside the texts (.conf)": 6}


def test_morfitt_is_a_table_of_abstracts_with_specialties(shared_data):
    got = read(
        shared_data / "fr_cls" / "morfitt" / "train.tsv", text="abstract", id="identifier",
        metadata={"specialties": "specialities"},
    )  # fmt: skip
    assert len(got.documents) == 1514 and len(set(got.ids)) == 1514 and not got.counts
    chosen = [document for document in got.documents if MetadataFilter.parse("specialties~surgery").holds(document)]
    assert 0 < len(chosen) < 1514


@pytest.mark.parametrize(
    "file, documents", [("bdpm_notices.txt", 5605), ("pamj_cas_cliniques.txt", 654), ("tico19_fr.txt", 31)]
)
def test_texts_with_a_blank_line_between_documents(shared_data, file, documents):
    got = read(shared_data / "fr_raw" / file)
    assert len(got.documents) == documents and not got.counts


def test_frenchmedmcqa_is_an_array_of_objects(shared_data):
    got = read(shared_data / "fr_qa" / "frenchmedmcqa" / "dev.json", text="question")
    assert len(got.documents) == 312 and not got.counts
