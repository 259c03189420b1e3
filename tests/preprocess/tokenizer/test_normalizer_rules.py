"""Every rule does what its example says, and leaves alone what it should; then the sentences users have in mind."""

import pytest
from text_helpers import AFTER, CASED, CLINICAL, EVERY_OPTIONS, MOSES, NONE, PAPER, normalize
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from alibert_common.errors import InputError
from preprocess.tokenizer.moses_rules import moses_rules
from preprocess.tokenizer.normalizer import TextNormalizer, TextOptions, rules_only
from preprocess.tokenizer.rules import CLINICAL_UNITS, INVISIBLE, MARK, THOUSANDS, UNIFY

REPLACEMENTS = [INVISIBLE, THOUSANDS, *UNIFY, *moses_rules(cased=True)]
CLINICAL_CASED = TextOptions("clinical", cased=True)


def by_name(rule):
    return rule.name


@pytest.mark.parametrize("rule", REPLACEMENTS, ids=by_name)
def test_a_replacement_does_what_its_example_says(rule):
    apply = normalizers.Replace(Regex(rule.pattern), rule.replacement).normalize_str
    assert apply(rule.before) == rule.after
    assert apply(rule.unchanged) == rule.unchanged


@pytest.mark.parametrize("rule", CLINICAL_UNITS, ids=by_name)
def test_a_unit_stays_whole_by_its_own_rule(rule):
    alone = Tokenizer(models.WordLevel({"<unk>": 0}, "<unk>"))
    alone.normalizer = normalizers.Sequence([])
    split = pre_tokenizers.Split(Regex(f"{rule.pattern}|{MARK}"), "isolated")
    alone.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), split])
    assert TextNormalizer(alone).normalize(rule.before) == rule.after
    assert normalize(rule.before, CLINICAL_CASED) == rule.after
    assert normalize(rule.unchanged, CLINICAL_CASED) == rule.unchanged


# Written out here, so that a character taken from a rule, or added to one, turns a test red.
CHARACTERS = {
    "micro sign": "µ",
    "apostrophes": "\u2018\u2019\u201a\u201b\u2032\u2035\u00b4\u0060\uff07",
    "quotes": "\u00ab\u00bb\u2039\u203a\u201c\u201d\u201e\u201f\u2033\u2036\u301d\u301e\uff02",
    "dashes": "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d",
    "bullets": "\u00b7\u2023\u2043\u2219\u22c5\u25a0\u25a1\u25aa\u25ab\u25b6\u25ba\u25cb\u25cf\u25e6\u2e31"
    "\uf076\uf0a7\uf0b7\uf0d8",
    "the subword mark": "\u2581",
    "spaces": "\x1c\x1d\x1e\x1f\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u202f\u205f\u3000",
    "invisible characters": "".join(
        chr(code)
        for first, last in (
            (0x00, 0x08), (0x0E, 0x1B), (0x7F, 0x7F), (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x180E, 0x180E),
            (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
        )
        for code in range(first, last + 1)
    ),
}  # fmt: skip


@pytest.mark.parametrize("rule", [*UNIFY, INVISIBLE], ids=by_name)
def test_a_rule_replaces_its_characters_and_no_other_of_unicode(rule):
    every = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000 and chr(code) not in "\n"]
    replaced = normalizers.Replace(Regex(rule.pattern), rule.replacement).normalize_str("\n".join(every)).split("\n")
    changed = {before: after for before, after in zip(every, replaced, strict=True) if before != after}
    assert changed == dict.fromkeys(CHARACTERS[rule.name], rule.replacement)


@pytest.mark.parametrize("space", "\u00a0\u2009\u202f")
def test_groups_of_three_digits_are_joined_over_every_space_of_the_rule(space):
    apply = normalizers.Replace(Regex(THOUSANDS.pattern), THOUSANDS.replacement).normalize_str
    assert apply(f"1{space}000{space}000 UI") == "1000000 UI" and apply(f"1{space}0000") == f"1{space}0000"


@pytest.mark.parametrize("elision", "l d j n s c m t jusqu lorsqu puisqu quoiqu qu L QU".split())
def test_every_elision_ends_after_its_apostrophe(elision):
    assert normalize(f"{elision}'os", CLINICAL_CASED) == f"{elision}' os"


@pytest.mark.parametrize("word", ["aujourd'hui", "presqu'île", "presqu'ile", "prud'homme", "prud'homal", "Prud'hommes"])
def test_every_word_with_an_apostrophe_stays_whole(word):
    assert normalize(f"{word}.", CLINICAL_CASED) == f"{word} ."


@pytest.mark.parametrize(
    "per",
    "kg mg μg ng g dl cl ml μl fl l m2 m² mm2 mm² mm3 mm³ cm2 cm² cm3 cm³ mmol mol kcal jour jours j d heure heures hr "
    "h minute minutes min mn seconde secondes sec s semaine semaines sem mois an ans année années dose doses prise "
    "prises champ".split(),
)
def test_every_unit_that_is_divided_by_stays_whole(per):
    assert normalize(f"5mg/{per}.", CLINICAL_CASED) == f"5mg/{per} ."
    assert normalize(f"5mg/{per}x", CLINICAL_CASED) == f"5mg / {per}x"


@pytest.mark.parametrize(
    "ion", "Cl- HCO3- OH- Br- NO2- NO3- PO4- SO4- Rh- VIH- Gram- HER2- CD4- CD34- CD123- Na+ Ca++ Ca2+ CD4+".split()
)
def test_every_charge_and_result_stays_with_its_name(ion):
    assert normalize(f"{ion},", CLINICAL_CASED) == f"{ion} ,"


@pytest.mark.parametrize("mark", [*".,:/×*x°-", "^", "^+", "^-"])
def test_every_mark_that_joins_numbers_keeps_them_whole(mark):
    assert normalize(f"10{mark}15,", CLINICAL_CASED) == f"10{mark}15 ,"


@pytest.mark.parametrize("power", [*"⁰¹²³⁴⁵⁶⁷⁸⁹"])
def test_every_raised_digit_is_a_power(power):
    assert normalize(f"10⁻{power},", CLINICAL_CASED) == f"10⁻{power} ,"
    assert normalize(f"10⁺{power},", CLINICAL_CASED) == f"10⁺{power} ,"


def test_every_rule_says_where_it_comes_from():
    for rule in [*REPLACEMENTS, *CLINICAL_UNITS]:
        assert rule.source and rule.before != rule.after


@pytest.mark.parametrize(
    "unit",
    "7,4 38,5 mg/kg/j 12h30 10^9/L HbA1c TNF-α Na+ 120/80 T2N0M0 2-3 5mg/kg/24h mL/min/1,73m2 kg/m² 10⁹/L 10⁻³ 1/2"
    " 4,5×10^9/L 12/03/2024 37°2 Ca2+ Ca++ Cl- HCO3- CD4+ VIH- IL-6 SARS-CoV-2 anti-TNF-α 18F-FDG µg/L °C 0,5".split(),
)
def test_clinical_mode_keeps_a_unit_whole_where_paper_mode_splits_its_punctuation(unit):
    sentence = f"taux ({unit}), puis {unit}."
    unit = unit.replace("µ", "μ")
    assert normalize(sentence, CLINICAL_CASED) == f"taux ( {unit} ) , puis {unit} ."
    split = normalize(sentence, CASED).split()
    assert (unit in split) == unit.isalnum()
    assert all(len(word) == 1 or word.isalnum() for word in split)


def test_clinical_mode_unifies_the_dash_of_a_range_and_closes_thousands():
    assert (
        normalize("10–15 jours, 1\u202f000 UI, 12\u00a0500\u00a0000 €", CLINICAL)
        == "10-15 jours , 1000 ui , 12500000 €"
    )
    assert normalize("le 3\u00a0mai 2020\u00a0150 cas, 1\u202f0000", CLINICAL) == "le 3 mai 2020 150 cas , 1 0000"
    assert normalize("1\u202f000 UI", PAPER) == "1 000 ui"


@pytest.mark.parametrize("elision", "l' d' qu' j' n' s' c' m' t' jusqu' lorsqu' puisqu' quoiqu'".split())
@pytest.mark.parametrize("apostrophe", "'’")
def test_clinical_mode_ends_an_elision_after_its_apostrophe(elision, apostrophe):
    text = f"et {elision}une (ou {elision.upper()}Une) avis".replace("'", apostrophe)
    assert normalize(text, CLINICAL) == f"et {elision} une ( ou {elision} une ) avis"
    assert normalize(text, CLINICAL_CASED) == f"et {elision} une ( ou {elision.upper()} Une ) avis"


def test_clinical_mode_leaves_words_with_an_apostrophe_and_ordinary_hyphens_to_their_own():
    text = "Aujourd’hui, d'aujourd'hui, la presqu'île, un prud'homme et/ou c'est-à-dire post-opératoire."
    assert normalize(text, CLINICAL) == (
        "aujourd'hui , d' aujourd'hui , la presqu'île , un prud'homme et / ou c' est - à - dire post - opératoire ."
    )


def test_paper_mode_puts_a_space_on_both_sides_of_every_mark():
    assert (
        normalize("Fièvre (39,5 °C)... l’état: «stable»", PAPER) == 'fièvre ( 39 , 5 ° c ) . . . l \' état : " stable "'
    )


def test_after_puts_a_space_behind_every_mark_and_none_before_as_figure_1_shows():
    assert normalize("Fièvre (39,5) : l’état , stable", AFTER) == "fièvre( 39, 5): l' état, stable"
    assert rules_only(AFTER).pre_tokenizer.pre_tokenize_str("fièvre (39") == [
        ("▁fièvre", (0, 6)),
        ("(", (7, 8)),
        ("▁39", (8, 10)),
    ]


def test_case_is_a_choice_and_accents_stay():
    assert normalize("Œdème à GAUCHE, ÉTÉ", PAPER) == "œdème à gauche , été"
    assert normalize("Œdème à GAUCHE, ÉTÉ", CASED) == "Œdème à GAUCHE , ÉTÉ"


@pytest.mark.parametrize("options", [options for options in EVERY_OPTIONS if options.mode != "none"], ids=str)
def test_characters_are_unified_in_every_mode_that_normalises(options):
    text = "œuf\u00a0et\u202f\u2009æ co\u00adeur\u200b \u00b5 \u03bc e\u200b\u0301te\u0301 ² ½"
    assert normalize(text, options) == "œuf et æ coeur μ μ été ² ½"
    marks = TextNormalizer(rules_only(options)).bare_words("· ▪ • – — ‑ “ ” « » ▁")
    assert marks == ["•"] * 3 + ["-"] * 3 + ['"'] * 4 + ["_"]


@pytest.mark.parametrize("options", EVERY_OPTIONS, ids=str)
def test_no_word_can_spell_a_special_token(options):
    words = TextNormalizer(rules_only(options)).bare_words("<mask>x</s> [MASK] <unused0>")
    assert words.count("<") == 3 and all(word in "<>" or not set("<>") & set(word) for word in words)


def test_moses_mode_keeps_decimals_elisions_and_abbreviations_together():
    assert normalize("M. Roux prend 7,5 mg. L'état (cf. p. 3) est stable.", MOSES) == (
        "m. roux prend 7,5 mg . l' état ( cf. p. 3 ) est stable ."
    )


def test_none_leaves_marks_where_they_are_and_takes_only_what_the_ids_need():
    text = "L’état «stable» : 38,5\u00a0°C, 5 \u00b5g (M.\x1cRoux) \u2581x a<b\u200b"
    assert TextNormalizer(rules_only(NONE)).bare_words(text) == (
        "l’état «stable» : 38,5 °c, 5 \u00b5g (m. roux) _x a < b".split(" ")
    )
    assert normalize("L’État.", TextOptions("none", cased=True)) == "L’État."


def test_lines_and_line_ends_stay_where_they_are():
    assert normalize("a,b\r\n\nc\u2028d\n \u200b\n  ", PAPER) == "a , b\r\n\nc\u2028d\n \u200b\n "


def test_modes_that_do_not_exist_together_are_refused():
    with pytest.raises(InputError, match="--punctuation after belongs to --mode paper"):
        TextOptions("clinical", "after")
    with pytest.raises(InputError, match="modes"):
        TextOptions("papier")
