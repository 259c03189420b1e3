"""Masked words: what is asked, whole-word scores against transformers alone, ranks, tables, and what is refused."""

import json
import shutil
import sys
from collections import Counter

import pytest
import torch
from published_models import write_model
from tiny_models import WORDS, write_electra, write_roberta
from transformers import AutoModelForMaskedLM, AutoTokenizer

from alibert_common.errors import InputError
from downstream.masked_words import __main__ as command
from downstream.masked_words import measure, scoring, tables
from downstream.masked_words.fillers import load_filler, pieces_at, reason_never, spell, whole_words
from downstream.masked_words.questions import Question, candidates_of, draw, maskable, read_sentences
from downstream.masked_words.scoring import answer, answers, cut_to_fit, scores_of

CPU = torch.device("cpu")
FORMS = [
    "foie",
    "Foie",
    "fièvre",
    "hépatite",
    "hépatique",
    "rein",
]  # the second last is ▁hépat ique, the one before ite


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    return write_roberta(root / "roberta"), write_electra(root / "electra")


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """Cased models of other vocabularies: WordPiece and byte-level BPE."""
    root = tmp_path_factory.mktemp("published")
    return {name: write_model(root / name, name) for name in ("bert_words", "roberta")}


def question(sentence, word, source="s"):
    before, _, after = sentence.partition("[MASK]")
    return Question(source, before, word, after, "f, line 1")


def scored(filler, asked, forms=FORMS):
    """{form: its score} of each question, every form a word of its own."""
    spelling = spell(filler, asked[0], forms, list(range(len(forms))))
    rows = scores_of(filler, asked, spelling, len(forms)).detach().tolist()
    return [dict(zip(forms, row, strict=True)) for row in rows]


def by_hand(folder, tokenizer_folder, text, pieces):
    """The sum of log-probabilities of `pieces` at the masks that `text` spells out, by transformers alone."""
    tokenizer = AutoTokenizer.from_pretrained(tokenizer_folder)
    batch = tokenizer(text, return_tensors="pt")
    with torch.no_grad():
        logarithms = AutoModelForMaskedLM.from_pretrained(folder).eval()(**batch).logits[0].log_softmax(-1)
    places = (batch["input_ids"][0] == tokenizer.mask_token_id).nonzero().flatten().tolist()
    ids = tokenizer.convert_tokens_to_ids(pieces)
    assert len(places) == len(ids)
    return sum(logarithms[place, number].item() for place, number in zip(places, ids, strict=True))


# What is asked


def test_a_maskable_word_is_of_letters_and_between_spaces():
    line = "Douleur intense, l'hépatite aiguë du foie\u00a0gauche dure 2000 jours ab1cd environ."
    assert [line[start:end] for start, end in maskable(line)] == ["aiguë", "dure", "jours"]


def write_cases(path, number=30):
    lines = [f"Le patient numéro {one} souffre depuis mardi." for one in range(number)]
    path.write_text("\ufeff" + "\n".join([*lines, "", lines[0], "Rien ici.", ""]), encoding="utf-8")
    return path


def test_words_are_drawn_by_the_seed_one_a_sentence(tmp_path):
    file = write_cases(tmp_path / "cases.txt")
    one, same, other = (draw("cases", file, 20, seed) for seed in (1, 1, 2))
    assert one == same and one.questions != other.questions
    assert one.counts == {"sentences": 31, "without_a_word_to_mask": 1, "masked": 20}
    assert one.words == {"patient": 30, "numéro": 30, "souffre": 30, "depuis": 30}  # "mardi." touches a sign
    texts = [asked.before + asked.word + asked.after for asked in one.questions]
    lines = file.read_text(encoding="utf-8-sig").split("\n")
    assert len(set(texts)) == 20 and texts == sorted(texts, key=lines.index)
    assert [asked.place for asked in one.questions] == [f"{file}, line {lines.index(text) + 1}" for text in texts]
    assert len({asked.word for asked in one.questions}) == 4
    assert draw("cases", file, 1000, 1).counts["masked"] == 30


def test_a_text_without_a_word_to_mask_is_refused(tmp_path):
    (tmp_path / "t.txt").write_text("Foie.\n")
    with pytest.raises(InputError, match="t.txt: no sentence with a word to mask"):
        draw("t", tmp_path / "t.txt", 10, 1)


@pytest.mark.parametrize(
    "content, complaint",
    [
        ("", "no sentence in it"),
        ("# seul\n\n", "no sentence in it"),
        ("le [MASK]\tfoie\nsans masque\tfoie\n", "line 2: write a sentence with one [MASK]"),
        ("le [MASK] [MASK]\tfoie\n", "line 1: write"),
        ("le [MASK]\n", "line 1: write"),
        ("le [MASK]\t\n", "line 1: write"),
    ],
)
def test_a_bad_sentences_file_is_one_sentence(tmp_path, content, complaint):
    (tmp_path / "s.tsv").write_text(content)
    with pytest.raises(InputError) as error:
        read_sentences(tmp_path / "s.tsv")
    assert complaint in str(error.value)


def test_candidates_are_one_whatever_the_case_and_the_most_frequent_first():
    found = candidates_of(Counter({"rein": 2, "Foie": 1, "foie": 3, "aorte": 2, "FOIE": 1}))
    assert found.words == ["foie", "aorte", "rein"] and found.counts == [5, 2, 2]
    assert found.forms == ["foie", "FOIE", "Foie", "aorte", "rein"] and found.numbers == [0, 0, 0, 1, 2]
    assert found.number_of() == {"foie": 0, "aorte": 1, "rein": 2}


# How a word is written


@pytest.mark.parametrize(
    "offsets, wanted",
    [
        ([(0, 2), (3, 5), (5, 7), (8, 10)], (1, 3)),
        ([(0, 2), (2, 5), (5, 7), (7, 10)], (1, 3)),  # offsets that take the space before along
        ([(0, 2), (3, 3), (3, 5), (5, 7), (8, 10)], (1, 4)),  # a bare Ġ is a piece of the word
        ([(0, 2), (2, 3), (3, 7), (7, 8), (8, 10)], (1, 3)),  # the second bare one is the next word's
        ([(0, 2), (3, 7), (7, 7), (8, 10)], (1, 2)),
        ([(0, 2), (3, 4), (3, 7), (8, 10)], (1, 3)),  # a bare ▁ has the offsets of the first character
        ([(0, 2), (3, 5), (5, 9), (9, 10)], None),
        ([(0, 5), (5, 7), (8, 10)], None),
        ([(0, 2), (8, 10)], None),
    ],
)
def test_pieces_of_a_word_are_found_by_their_characters(offsets, wanted):
    assert pieces_at(offsets, "le rein xy", 3, 7) == wanted


def test_a_word_is_never_predicted_for_one_of_three_reasons():
    assert [reason_never(pieces, 3) for pieces in ([7], [5] * 10, [5] * 11, [7, 3], [])] == [
        None, None, "of more than 10 pieces", "with an unknown character", "not apart from its neighbours",
    ]  # fmt: skip
    assert reason_never([7], None) is None


def test_forms_that_cannot_be_predicted_are_counted_and_score_nothing(folders):
    filler, asked = load_filler(folders[0], "m", CPU), question("Le [MASK] du patient.", "foie")
    forms = ["foie", "abcdefghijk", "hépat☃", "abcdefghi"]
    spelling = spell(filler, asked, forms, [0, 1, 2, 3])
    assert spelling.never == {"of more than 10 pieces": 1, "with an unknown character": 1}
    assert spelling.sizes == {0: 1, 3: 10} and sorted(spelling.by_size) == [1, 10]  # with a ▁ of its own
    row = scored(filler, [asked], forms)[0]
    assert [form for form in forms if row[form] == -torch.inf] == ["abcdefghijk", "hépat☃"]


def test_whole_words_of_a_vocabulary(folders):
    class Fake:
        all_special_ids = [0]

        def __init__(self, *pieces):
            self.pieces = pieces

        def get_vocab(self):
            return {piece: number for number, piece in enumerate(self.pieces)}

        def convert_tokens_to_string(self, pieces):
            return pieces[0].replace("Ġ", " ").replace("Ã©", "é")

    assert whole_words(Fake("[CLS]", "foie", "##ite", ",", "38")) == {"foie"}
    assert whole_words(Fake("<s>", "Ġfoie", "ite", "ĠdÃ©but", "Ġ,")) == {"foie", "début"}
    assert whole_words(AutoTokenizer.from_pretrained(folders[0])) == {*WORDS, "hépat"}


# Scores


@pytest.mark.parametrize("sentence", ["Le {} du patient.", "{} du patient", "Une douleur, une {}", "l'{}."])
def test_a_score_is_the_sum_of_transformers_log_probabilities(folders, sentence):
    filler = load_filler(folders[0], "m", CPU)
    got = scored(filler, [question(sentence.format("[MASK]"), "foie")])[0]
    for form, pieces in (("foie", ["▁foie"]), ("hépatite", ["▁hépat", "ite"]), ("hépatique", ["▁hépat", "ique"])):
        wanted = by_hand(folders[0], folders[0], sentence.format("<mask>" * len(pieces)), pieces)
        assert got[form] == pytest.approx(wanted, abs=1e-5)
    assert got["Foie"] == got["foie"] != got["rein"]  # this vocabulary is of lower case


@pytest.mark.parametrize("family, mask, between", [("bert_words", "[MASK]", " "), ("roberta", "<mask>", "")])
@pytest.mark.parametrize("sentence", ["Le {} du patient", "{} du patient", "un {}, puis"])
def test_scores_of_other_vocabularies(published, family, mask, between, sentence):
    filler = load_filler(published[family], "m", CPU)
    forms = ["patient", "Patient", "hépatite", "douleur", "tension"]
    got = scored(filler, [question(sentence.format("[MASK]"), "patient")], forms)[0]
    sizes = set()
    for form in forms:
        begins = sentence.startswith("{")
        pieces = filler.tokenizer.tokenize(form if begins or family == "bert_words" else f" {form}")
        masks = between.join([mask] * len(pieces))
        glued = sentence if begins or family == "bert_words" else sentence.replace(" {", "{")  # Ġ has the space
        assert got[form] == pytest.approx(by_hand(published[family], published[family], glued.format(masks), pieces))
        sizes.add(len(pieces))
    assert len(sizes) > 1 and got["patient"] != got["Patient"]


def test_all_words_of_k_pieces_cost_one_pass_and_batches_change_nothing(folders, monkeypatch):
    filler = load_filler(folders[0], "m", CPU)
    asked = [question("Le [MASK] du patient.", "foie"), question("Du rein, une [MASK] .", "foie")]
    calls = []
    filler.model.register_forward_hook(lambda _, inputs, output: calls.append(output.logits.shape[:2]))
    together = scored(filler, asked)
    assert calls == [(2, 10), (2, 11)]  # all of one piece, then all of two
    monkeypatch.setattr(scoring, "LOGITS", 1)
    assert [list(row.values()) for row in scored(filler, asked)] == [
        pytest.approx(list(row.values()), abs=1e-5) for row in together
    ]
    assert len(calls) == 6


def test_a_word_scores_as_its_best_form(published):
    filler = load_filler(published["roberta"], "m", CPU)
    asked = question("Le [MASK] du patient", "DOULEUR")
    forms = scored(filler, [asked], ["DOULEUR", "douleur", "Douleur", "foie"])[0]
    spelling = spell(filler, asked, list(forms), [0, 0, 0, 1])
    best = max(list(forms.values())[:3])
    assert scores_of(filler, [asked], spelling, 2)[0].tolist() == pytest.approx([best, forms["foie"]])
    assert (
        len({round(score, 3) for score in forms.values()}) == 4 and best == forms["douleur"]
    )  # neither the first nor the last


def test_ranks_count_ties_against_the_expected_word_and_shares_are_of_all_candidates():
    scores = torch.tensor([-2.0, -1.0, -2.0, -torch.inf, -3.0])
    got = answer(scores, 0, ["a", "b", "c", "d", "e"], top=2)
    total = sum(2.718281828**score for score in (-2, -1, -2, -3))
    assert got["expected_rank"] == 3 and got["expected_score"] == pytest.approx(2.718281828**-2 / total)
    assert got["top"][0] == {"word": "b", "score": pytest.approx(2.718281828**-1 / total)} and len(got["top"]) == 2
    assert answer(scores, 3, ["a", "b", "c", "d", "e"], top=9)["expected_rank"] is None


def test_answers_keep_the_order_of_the_questions_whatever_is_asked_together(folders, monkeypatch):
    filler = load_filler(folders[0], "m", CPU)
    asked = [
        question("Le patient traite une [MASK] du foie et du rein.", "fièvre"), question("[MASK] du patient.", "rein"),
        question("Le [MASK] du.", "Hépatite"), question("Un [MASK]☃ du.", "foie"),
    ]  # fmt: skip
    candidates = candidates_of(Counter(["foie", "fièvre", "hépatite", "rein", "☃"]))
    told: list[int] = []
    together, never = answers(filler, asked, candidates, 5, told.append)
    assert sum(told) == 4 and never == {"with an unknown character": 1, "not apart from its neighbours": 1}  # ☃☃
    assert [one["expected_pieces"] for one in together] == [1, 1, 2, 1]
    monkeypatch.setattr(scoring, "TOGETHER", 1)
    for one, mine in zip(asked, together, strict=True):
        alone, _ = answers(filler, [one], candidates, 5, told.append)
        assert [alone[0][key] for key in ("expected_rank", "expected_pieces")] == [
            mine[key] for key in ("expected_rank", "expected_pieces")
        ]
        assert alone[0]["expected_score"] == pytest.approx(mine["expected_score"])
        words = scored(filler, [one], candidates.words)[0]
        assert [item["word"] for item in mine["top"]] == sorted(words, key=words.get, reverse=True)


def test_words_are_written_as_in_their_place(published):
    """Before an s, this vocabulary writes `reins` as re ins: there `rein` is no pieces of its own."""
    filler = load_filler(published["bert_words"], "m", CPU)
    asked = [question("Le [MASK]s du patient", "foie"), question("Le [MASK] du patient", "foie")]
    candidates = candidates_of(Counter(["foie", "rein", "examen", "jour", "Jour"]))
    (glued, apart), never = answers(filler, asked, candidates, 9, lambda _: None)
    assert never == {"not apart from its neighbours": 2}
    assert {one["word"] for one in glued["top"] if not one["score"]} == {"rein", "examen"}
    assert all(one["score"] for one in apart["top"])
    assert spell(filler, asked[0], ["jour", "Jour"], [0, 0]).sizes == {0: 1}


# Context


def test_a_question_keeps_the_words_next_to_the_mask():
    asked = question("un deux  trois l'[MASK], quatre cinq", "œil")
    assert asked.words_around() == 3
    assert asked.within(3) == asked
    assert asked.within(2).sentence == "deux  trois l'[MASK], quatre cinq"
    assert asked.within(1).sentence == "trois l'[MASK], quatre"
    assert asked.within(0).sentence == "l'[MASK],"


def test_a_long_sentence_is_cut_for_all_models_alike(folders, published):
    small, large = load_filler(folders[0], "m", CPU), load_filler(published["roberta"], "n", CPU)
    long = question("le " * 40 + "[MASK]" + " du" * 3, "foie", source="long")
    short = question("le [MASK] du", "foie")
    cut, counts = cut_to_fit([long, short], [large, small])
    assert cut[0].sentence == "le " * 17 + "[MASK]" + " du" * 3  # 32 tokens less <s>, </s> and 10 masks leave 20
    assert cut[1] == short and counts == {"long": 1, "s": 0}
    alone, counts = cut_to_fit([long], [large])
    assert alone == [long] and counts == {"long": 0}
    assert scored(small, [cut[0]], ["abcdefghi"])[0]["abcdefghi"] > -torch.inf  # 10 pieces fit


def test_what_touches_the_mask_is_not_cut(folders):
    filler = load_filler(folders[0], "m", CPU)
    with pytest.raises(InputError, match="f, line 1: what touches 'foie' is too long for the models"):
        cut_to_fit([question("le " + "x-" * 30 + "[MASK]", "foie")], [filler])


def test_a_word_that_is_no_pieces_of_its_own_is_refused(published):
    filler = load_filler(published["bert_words"], "bert", CPU)
    with pytest.raises(InputError, match="f, line 1: bert has no pieces that are 'foi' alone"):
        cut_to_fit([question("le [MASK]" + "e" * 150, "foi")], [filler])


# Models


def test_electra_answers_through_its_generator_and_says_so(folders):
    filler = load_filler(folders[1], "electra", CPU)
    assert filler.note == "through its generator"
    got = scored(filler, [question("le [MASK]", "foie")])[0]
    for form, pieces in (("foie", ["▁foie"]), ("hépatite", ["▁hépat", "ite"])):
        wanted = by_hand(folders[1] / "generator", folders[1], "le " + "<mask>" * len(pieces), pieces)
        assert got[form] == pytest.approx(wanted, abs=1e-5)


def test_a_model_that_cannot_fill_masks_is_refused(folders, tmp_path):
    folder = shutil.copytree(folders[1], tmp_path / "electra")
    shutil.rmtree(folder / "generator")
    with pytest.raises(InputError, match="no generator/ in it"):
        load_filler(folder, "m", CPU)
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(settings | {"architectures": ["ElectraForMaskedLM"]}))
    with pytest.raises(InputError, match="no whole masked-language model"):
        load_filler(folder, "m", CPU)
    folder = shutil.copytree(folders[0], tmp_path / "roberta")
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"model_max_length": 11}))
    with pytest.raises(InputError, match="reads 11 tokens at most, too few for 10 masks"):
        load_filler(folder, "m", CPU)


# Tables


@pytest.mark.parametrize("found, asked", [(0, 5), (3, 7), (5, 5), (310, 1000)])
def test_intervals_are_wilsons(found, asked):
    stats = pytest.importorskip("scipy.stats")
    wanted = stats.binomtest(found, asked).proportion_ci(0.95, method="wilson")
    assert tables.wilson(found, asked) == pytest.approx((wanted.low, wanted.high), abs=1e-12)


def row(source, rank, pieces, other=1):
    return {"source": source, "answers": {
        "m": {"expected_rank": rank, "expected_pieces": pieces}, "n": {"expected_rank": 1, "expected_pieces": other},
    }}  # fmt: skip


def test_shares_by_source_and_by_number_of_pieces():
    rows = [row("a", 1, 1), row("a", 3, 1, 2), row("a", None, None), row("b", 5, 7), row("b", 1, 2), row("b", 6, 4)]
    found = tables.by_source(rows, "m")
    assert {source: [one["words"], *(one[f"top_{limit}"]["share"] for limit in (1, 3, 5))] for source, one in
            found.items()} == {
        "a": [3, 1 / 3, 2 / 3, 2 / 3], "b": [3, 1 / 3, 1 / 3, 2 / 3], "all sources": [6, 1 / 3, 1 / 2, 2 / 3],
    }  # fmt: skip
    assert (found["a"]["top_1"]["low"], found["a"]["top_1"]["high"]) == tables.wilson(1, 3)
    assert list(tables.by_source(rows[:2], "m")) == ["a"]
    assert tables.of_one_piece(rows) == rows[:1]
    assert {kind: (one["words"], one["right"]) for kind, one in tables.by_pieces(rows, "m").items()} == {
        "1": (2, 1), "2": (1, 1), "3": (0, 0), "4+": (2, 0), "cannot": (1, 0),
    }  # fmt: skip


def test_the_baseline_names_the_most_frequent_words():
    candidates = candidates_of(Counter({"foie": 5, "rein": 2, "aorte": 2, "os": 1}))
    rows = [{"source": "a", "expected": word} for word in ("Foie", "aorte", "rein", "os")]
    answered = measure.by_frequency(rows, candidates)
    assert [one["answers"]["most frequent words"]["expected_rank"] for one in answered] == [1, 3, 3, 4]


def test_a_sentence_with_a_sign_that_some_take_for_a_line_end_is_one(tmp_path):
    (tmp_path / "s.tsv").write_text("Le\u2028bon\u0085 [MASK] du patient.\tfoie\n", encoding="utf-8")
    (question,) = read_sentences(tmp_path / "s.tsv").questions
    assert question.before == "Le\u2028bon\u0085 " and question.word == "foie"


def test_names_sentences_and_words_are_plain_text():
    answer = {"top": [{"word": "~~a~~", "score": 0.5}, {"word": "_x_", "score": 0.25}], "expected_rank": 2,
              "expected_pieces": 1, "expected_score": 0.25}  # fmt: skip
    row = {"source": "*s*", "sentence": "le [MASK](b) | <i>", "expected": "_x_", "answers": {"_m_": answer}}
    share = {"share": 0.5, "low": 0.25, "high": 0.75}
    scores = {"_m_": {"*s*": {"words": 1} | {f"top_{limit}": share for limit in (1, 3, 5)}}}
    model = {"note": "", "never_predicted": {}, "pieces": tables.by_pieces([row], "_m_")}
    content = {"models": {"_m_": model}, "rows": [row], "measure": "Whole words.", "scores": scores, "seed": 1,
               "candidates": {"number": 2, "from": "the texts"}, "sources": {"*s*": {"masked": 1}}}  # fmt: skip
    text = tables.markdown(content, 1)
    for line in (
        r"| le [MASK\](b) \| &lt;i&gt; | \_x\_ | \~\~a\~\~ 0.500<br>**\_x\_** 0.250<br>(rank 2) |",
        r"| model | \*s\*, top 1 | \*s\*, top 3 | \*s\*, top 5 |", "| sentence | expected | \\_m\\_ |",
        r"- \*s\*: 1 masked.", r"Words: \*s\* 1.", r"| \_m\_ | 0.50 [0.25, 0.75] |",
    ):  # fmt: skip
        assert line in text


def test_few_candidates_are_joined_by_the_vocabularies_words(folders, tmp_path, monkeypatch):
    fillers = [load_filler(folders[0], "m", CPU)]
    (tmp_path / "s.tsv").write_text("La [MASK] est forte.\tToux\n")
    sources = [read_sentences(tmp_path / "s.tsv")]
    candidates, origin = measure.choose_candidates(sources, fillers)
    assert {*candidates.words} == {"Toux", *WORDS, "hépat"} and candidates.counts[:2] == [1, 0]
    assert "any model" in origin
    monkeypatch.setattr(measure, "MIN_CANDIDATES", 1)
    candidates, origin = measure.choose_candidates(sources, fillers)
    assert candidates.words == ["Toux"] and "any model" not in origin


# The command


def call(monkeypatch, *options):
    monkeypatch.setattr(sys, "argv", ["masked_words", "--device", "cpu", *map(str, options)])
    command.main()


def test_the_command_writes_table_and_predictions(folders, tmp_path, monkeypatch, capsys):
    (tmp_path / "s.tsv").write_text("Le [MASK] du patient.\tfoie\nUne [MASK] grave.\thépatite\nUn [MASK].\t☃\n")
    cases = write_cases(tmp_path / "cases.txt")
    models = [part for folder in folders for part in ("--model", folder)]
    call(monkeypatch, *models, "--text", f"cases={cases}", "--sentences", tmp_path / "s.tsv", "--count", 12,
         "--seed", 2, "--top", 2, "--examples", 3, "--output", tmp_path / "out")  # fmt: skip
    content = json.loads((tmp_path / "out" / "masked_words.json").read_text())
    text = (tmp_path / "out" / "masked_words.md").read_text()
    assert capsys.readouterr().out == text.replace("<br>", ", ")
    assert content["seed"] == 2 and content["sources"]["cases"]["masked"] == 12
    asked = [row for row in content["rows"] if row["source"] == "cases"]
    assert [row["expected"] for row in asked] == [one.word for one in draw("cases", cases, 12, 2).questions]
    whole = [row for row in asked if row["sentence"].startswith("Le ") and row["sentence"].endswith(" mardi.")]
    assert content["sources"]["cases"]["cut"] == 12 - len(whole) > 0
    assert content["models"]["electra"]["note"] == "through its generator"
    assert list(content["scores"]) == ["roberta", "electra", "most frequent words"]
    assert list(content["scores"]["roberta"]) == ["cases", "s.tsv", "all sources"]
    answered = [row["answers"]["roberta"] for row in content["rows"] if row["source"] == "s.tsv"]
    assert [one["expected_pieces"] for one in answered] == [1, 2, None]
    assert answered[2]["expected_rank"] is None and answered[0]["expected_rank"] >= 1
    first = (answered[0]["expected_rank"] == 1) + (answered[1]["expected_rank"] == 1)
    assert content["scores"]["roberta"]["s.tsv"]["top_1"]["share"] == first / 3
    one_piece = content["scores_one_piece"]["roberta"]
    assert one_piece["s.tsv"]["words"] == 1
    assert "| electra (through its generator) |" in text and "(cannot predict it)" in text and ", 2 pieces)" in text
    table = text.partition("## Predictions")[2].splitlines()
    assert sum(line.startswith("| ") for line in table) == 1 + 3 + 3  # of the 12 of cases, by --examples


def test_a_word_of_several_pieces_can_be_the_first_prediction(folders, tmp_path, monkeypatch):
    folder = shutil.copytree(folders[0], tmp_path / "sure")
    model = AutoModelForMaskedLM.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        model.lm_head.bias[tokenizer.convert_tokens_to_ids(["▁hépat", "ite"])] = 40.0
    model.save_pretrained(folder)
    (tmp_path / "s.tsv").write_text("Une [MASK] grave.\thépatite\nUn [MASK].\tfoie\n")
    call(monkeypatch, "--model", folder, "--sentences", tmp_path / "s.tsv", "--output", tmp_path / "out")
    content = json.loads((tmp_path / "out" / "masked_words.json").read_text())
    assert {one["word"] for one in content["rows"][0]["answers"]["sure"]["top"][:2]} == {"hépat", "hépatite"}
    assert "**hépatite**" in (tmp_path / "out" / "masked_words.md").read_text()
    assert list(content["scores"]) == ["sure"]  # without a text no word is frequent


def test_the_same_seed_writes_the_same_twice(folders, tmp_path, monkeypatch):
    cases = write_cases(tmp_path / "cases.txt")
    for name in ("one", "two"):
        call(monkeypatch, "--model", folders[0], "--text", f"cases={cases}", "--count", 5, "--output", tmp_path / name)
    for file in ("masked_words.json", "masked_words.md"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_a_model_that_fails_leaves_nothing(folders, tmp_path, monkeypatch):
    (tmp_path / "s.tsv").write_text("Le [MASK] du patient.\tfoie\n")
    options = ["--model", folders[0], "--sentences", tmp_path / "s.tsv", "--output", tmp_path / "out"]
    with pytest.raises(InputError, match="no config.json"):
        call(monkeypatch, *options, "--model", tmp_path)
    real = measure.answers

    def fails(filler, *rest):
        if filler.name == "electra":
            raise RuntimeError("out of memory")
        return real(filler, *rest)

    monkeypatch.setattr(measure, "answers", fails)
    with pytest.raises(RuntimeError):
        call(monkeypatch, *options, "--model", folders[1])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "options, complaint",
    [
        (["--sentences", "s.tsv", "--model", "{model}"], "'roberta' is there twice; write NAME=PATH"),
        ([], "nothing is asked; give --text NAME=FILE or --sentences FILE"),
        (["--text", "t.txt"], "--text t.txt: write NAME=PATH"),
        (["--text", "t="], "--text t=: write NAME=PATH"),
        (["--text", "a=t.txt", "--text", "a=t.txt"], "--text a=t.txt: 'a' is there twice"),
        (["--text", "s.tsv=t.txt", "--sentences", "s.tsv"], "--text s.tsv=...: this name is taken"),
        (["--text", "all sources=t.txt"], "--text all sources=...: this name is taken"),
        (["--sentences", "s.tsv", "--output", "s.tsv"], "s.tsv: is a file; give the folder"),
    ],
)
def test_what_cannot_be_told_apart_is_refused(folders, tmp_path, monkeypatch, options, complaint):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.tsv").write_text("Le [MASK] du patient.\tfoie\n")
    with pytest.raises(InputError) as error:
        call(monkeypatch, "--model", folders[0], *(option.format(model=folders[0]) for option in options))
    assert complaint in str(error.value)


def test_models_of_one_folder_name_are_told_apart_by_names(folders, tmp_path, monkeypatch):
    (tmp_path / "s.tsv").write_text("Le [MASK] du patient.\tfoie\n")
    call(monkeypatch, "--model", f"a={folders[0]}", "--model", folders[0], "--sentences", tmp_path / "s.tsv",
         "--output", tmp_path / "out")  # fmt: skip
    assert list(json.loads((tmp_path / "out" / "masked_words.json").read_text())["models"]) == ["a", "roberta"]
