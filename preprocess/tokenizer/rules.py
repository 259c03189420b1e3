r"""The French biomedical rules as data: pattern, replacement, an example, where the rule comes from.

A rule either replaces (one character by one character, or by nothing, so that offsets still point into the raw text)
or, when `replacement` is None, names a stretch of text that stays one word. Patterns are Oniguruma's, the regular
expressions of the `tokenizers` library; they see text that NFC, and lower-casing unless asked otherwise, went over.
Which rules apply, and in which order, is in preprocess/tokenizer/normalizer.py.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """One rule. `before` becomes `after`; `unchanged` looks alike and must be left alone."""

    name: str
    pattern: str
    replacement: str | None
    before: str
    after: str
    unchanged: str
    source: str


# A punctuation mark: Unicode punctuation and symbols. `<` and `>` are among them, so no piece can spell `<mask>`.
MARK = r"[\p{P}\p{S}]"
WORD = r"[\p{L}\p{N}\p{M}]"
_START, _END = rf"(?<!{WORD})", rf"(?!{WORD})"
_JOINED = r"(?:(?:[.,:/×*x°-]|\^[+-]?)\d+|[⁺⁻][⁰¹²³⁴-⁹]+)"  # what goes on with a number after its first digits
_PER = (  # what a clinician divides by
    r"(?:kg|mg|μg|ng|g|dl|cl|ml|μl|fl|l|m2|m²|mm2|mm²|mm3|mm³|cm2|cm²|cm3|cm³|mmol|mol|kcal"
    r"|jours?|j|d|heures?|hr|h|minutes?|min|mn|secondes?|sec|s|semaines?|sem|mois|ans?|années?|doses?|prises?|champ)"
)

UNIFY = (
    Rule(
        "micro sign", "\u00b5", "\u03bc",
        before="5 \u00b5g", after="5 \u03bcg", unchanged="mug",
        source="Unicode 00B5: compatibility form of Greek mu",
    ),
    Rule(
        "apostrophes", "[\u2018\u2019\u201a\u201b\u2032\u2035\u00b4`\uff07]", "'",
        before="l\u2019h\u00f4pital", after="l'h\u00f4pital", unchanged="l'h\u00f4pital",
        source="Unicode 0027 and its cross references; U+2019 and U+0027 both common in French leaflets",
    ),
    Rule(
        "quotes", "[\u00ab\u00bb\u2039\u203a\u201c-\u201f\u2033\u2036\u301d\u301e\uff02]", '"',
        before="\u00ab\u00a0avis\u00a0\u00bb", after='"\u00a0avis\u00a0"', unchanged='"avis"',
        source="Unicode 0022 and its cross references; French guillemets",
    ),
    Rule(
        "dashes", "[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]", "-",
        before="10\u201315", after="10-15", unchanged="post-op",
        source="Unicode 002D and its cross references; U+2011 and U+2013 common in leaflets",
    ),
    Rule(
        "bullets",
        "[\u00b7\u2023\u2043\u2219\u22c5\u25a0\u25a1\u25aa\u25ab\u25b6\u25ba\u25cb\u25cf\u25e6\u2e31\uf076\uf0a7\uf0b7\uf0d8]",
        "\u2022",
        before="\u00b7 Gardez", after="\u2022 Gardez", unchanged="\u2022 Gardez",
        source="Unicode 2022 and its cross references; U+F0A7 and U+F0B7 are Word's bullets in the Symbol fonts",
    ),
    Rule(
        "the subword mark", "\u2581", "_",
        before="\u2581", after="_", unchanged="_",
        source="our choice: U+2581 marks the start of a word inside the vocabulary and must not come from text",
    ),
    Rule(
        "spaces", "[\\x1c-\\x1f\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]", " ",
        before="38\u00a0\u00b0C", after="38 \u00b0C", unchanged="38 \u00b0C",
        source="Unicode category Zs, and the separators that `\\s` of Python's re knows: fairseq splits at them",
    ),
)  # fmt: skip

INVISIBLE = Rule(
    "invisible characters",
    "[\\x00-\\x08\\x0e-\\x1b\\x7f\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]",
    "",
    before="para\u00adcéta\u200bmol", after="paracétamol", unchanged="paracétamol",
    source="Unicode categories Cc and Cf: soft hyphen, zero-width, joining, directional and variation characters",
)  # fmt: skip

THOUSANDS = Rule(
    "thousands", r"(?<=\d)(?<!\d{4})[\u00a0\u2009\u202f](?=\d{3}(?!\d))", "",
    before="1\u202f000 UI", after="1000 UI", unchanged="le 1 000",
    source="Lexique des règles typographiques, Imprimerie nationale: a thin space between groups of three digits",
)  # fmt: skip

# The order matters: at one place in the text the first rule that fits wins.
CLINICAL_UNITS = (
    Rule(
        "words with an apostrophe", rf"{_START}(?i:aujourd'hui|presqu'[iî]les?|prud'hom\p{{L}}*){_END}", None,
        before="presqu'île.", after="presqu'île .", unchanged="presqu ' elle",
        source="Le Bon Usage, elision: the words in which the apostrophe ends nothing",
    ),
    Rule(
        "elisions", rf"{_START}(?i:jusqu|lorsqu|puisqu|quoiqu|qu|[ldjnscmt])'", None,
        before="jusqu'à l'os", after="jusqu' à l' os", unchanged="os '",
        source="Le Bon Usage, elision",
    ),
    Rule(
        "quantities",
        rf"{_START}(?:\d+{_JOINED}*)?[\p{{L}}\p{{No}}%]*(?<=[\p{{L}}\p{{N}}%])(?:/(?:\d+(?:[.,]\d+)?)?(?i:{_PER}))+(?:/\d+(?:[.,]\d+)?)?{_END}",
        None,
        before="10^9/L, 5mg/kg/j.", after="10^9/L , 5mg/kg/j .", unchanged="et / ou",
        source="our choice: a number or unit over the units clinicians divide by, a closed list",
    ),
    Rule(
        "signed ions and markers",
        rf"{_START}(?i:\p{{L}}{{1,4}}\d{{0,3}}\+{{1,2}}(?![+\p{{L}}\p{{N}}])|(?:cl|hco3|oh|br|no[23]|po4|so4|rh|vih|gram|her2|cd\d{{1,3}})-(?![-\p{{L}}\p{{N}}]))",
        None,
        before="Na+/Cl-", after="Na+ / Cl-", unchanged="2 + 2",
        source="our choice: a short stem with its charge, or a marker with its result",
    ),
    Rule(
        "numbers", rf"{_START}(?i:\d+{_JOINED}+)", None,
        before="120/80, 38,5", after="120/80 , 38,5", unchanged="12 , 5",
        source="our choice: digits joined by one mark (decimals, ratios, ranges, dates, hours, powers)",
    ),
    Rule(
        "names with a digit or a Greek letter",
        rf"{_START}(?=[\p{{L}}\p{{N}}-]{{1,60}}(?<=[\p{{N}}\p{{Greek}}]))[\p{{L}}\p{{N}}]+(?:-[\p{{L}}\p{{N}}]+)+{_END}",
        None,
        before="anti-TNF-α, IL-6", after="anti-TNF-α , IL-6", unchanged="sous - cutané",
        source="our choice: gene, cytokine, isotope and virus names",
    ),
    Rule(
        "degrees", rf"°(?i:[cf]){_END}", None,
        before="38°C", after="38 °C", unchanged="n ° 4",
        source="Bureau international des poids et mesures: °C is one symbol",
    ),
)  # fmt: skip
