"""Whether the ids of a line are the ids of its parts between spaces, one after the other, for a given tokenizer.

If so, a word is encoded once however often it occurs (`line_encoder.py`). The answer is a proof from the rules in
`tokenizer.json`, not a trial: True only when every rule up to the split at white space treats U+0020 as it treats the
edge of the text. Everything after that split sees one part at a time. A False answer costs time, never exactness.
"""

import itertools
import json
import re

from tokenizers import Regex, Tokenizer
from tokenizers.normalizers import Replace

# They map single characters or combining sequences, and a space is in no combining sequence.
BLIND_NORMALIZERS = {"NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "BertNormalizer"}
# They split at single characters of a class to which the space does not belong.
BLIND_PRE_TOKENIZERS = {"Punctuation", "Digits"}
SPLITS_AT_WHITE_SPACE = {"WhitespaceSplit", "BertPreTokenizer"}  # BERT's then isolates marks, in each part by itself
# One thing that matches one character, an anchor, or syntax: escapes, classes in brackets, any other character.
ATOM = re.compile(
    r"\\[pP]\{[^}]*\}|\\u[0-9A-Fa-f]{4}|\\x\{[^}]*\}|\\x[0-9A-Fa-f]{1,2}|\\[0-7]{1,3}|\\."
    r"|\[(?:\\.|\[:\^?\w+:\]|[^\]\\])+\]|\(\?<?[=!:>]|.",
    re.DOTALL,
)
SYNTAX = {"(", ")", "|", "*", "+", "?", "{", "}", ",", r"\b", r"\B", "(?=", "(?!", "(?<=", "(?<!", "(?:", "(?>"}


def is_word_independent(tokenizer: Tokenizer) -> bool:
    """Whether `encode(a + " " + b) == encode(a) + encode(b)` holds for all texts, special tokens not added."""
    rules = json.loads(tokenizer.to_str())
    if any(not token["special"] for token in rules["added_tokens"]):
        return False  # matched before everything else, and may hold a space
    for rule in _sequence(rules["normalizer"], "normalizers"):
        if rule["type"] not in BLIND_NORMALIZERS and not (rule["type"] == "Replace" and _pattern_is_blind(rule)):
            return False
    rules_of_split = _sequence(rules["pre_tokenizer"], "pretokenizers")
    if any(rule.get("prepend_scheme") == "first" for rule in rules_of_split) or rules["model"].get("dropout"):
        return False  # the first word differs from the others; every draw differs from the last
    blind = itertools.takewhile(lambda rule: not _splits_at_white_space(rule), rules_of_split)
    return all(map(_pre_tokenizer_is_blind, blind)) and any(map(_splits_at_white_space, rules_of_split))


def _sequence(rule: dict | None, key: str) -> list[dict]:
    if rule is None:
        return []
    return [part for inner in rule[key] for part in _sequence(inner, key)] if rule["type"] == "Sequence" else [rule]


def _pre_tokenizer_is_blind(rule: dict) -> bool:
    if rule["type"] == "Split":
        return not rule["invert"] and _pattern_is_blind(rule)
    return rule["type"] in BLIND_PRE_TOKENIZERS


def _splits_at_white_space(rule: dict) -> bool:
    return rule["type"] in SPLITS_AT_WHITE_SPACE


def _pattern_is_blind(rule: dict) -> bool:
    """No part of the rule's pattern matches a space, so no match and no look-around reaches over one."""
    pattern = rule["pattern"]
    if "String" in pattern:
        return " " not in pattern["String"]
    if re.search(r"\(\?[^=!:<>]|\\Y", pattern["Regex"]):
        return False  # options, absence and the like are beyond this proof
    return not any(map(_sees_a_space, ATOM.findall(pattern["Regex"])))


def _sees_a_space(atom: str) -> bool:
    if atom in SYNTAX:
        return False
    try:
        return Replace(Regex(f"(?:{atom})"), "x").normalize_str(" ") != " "  # an anchor changes it too
    except Exception:  # what the engine says of half a construct we do not know: no proof
        return True
