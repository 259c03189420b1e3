"""The tokenizer of a published folder, as files that binarize, training and AutoTokenizer read alike.

tokenizer.json is AutoTokenizer's own, saved. tokenizer_config.json names the class PreTrainedTokenizerFast, the only
one that transformers 4 and 5 both take as it is. Version 5 builds every specialised class (CamembertTokenizer, ...)
from the vocabulary alone, with rules that may differ from the published ones. It fails if the class expects another
kind of subword model than that of tokenizer.json. DrBERT's is a BPE, CamembertTokenizer a Unigram model. There the file
is read as it is, as version 4 reads it.
"""

import json
from pathlib import Path

from sentencepiece import SentencePieceProcessor
from tokenizers import Tokenizer
from transformers import AutoTokenizer, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from alibert_common.errors import InputError, reason
from alibert_common.files import write_json
from alibert_fairseq.hf.logit_check import SENTENCES
from alibert_fairseq.hf.published.read_tokenizer import auto_tokenizer, make_file, reading, tokenizer_file
from preprocess.databin.line_encoder import LineEncoder
from preprocess.tokenizer.load import load_tokenizer
from preprocess.tokenizer.special_tokens import ROLES, flagged, read_layout

# What tokenizers differ in: capitals, apostrophes, ligatures, white space, marks, accents apart, other scripts.
TRICKY = (
    "L’état : 1\u202f000\u00a0UI «stable»… Œdème ; ÉPANCHEMENT, Ça.",
    "aujourd'hui jusqu’à 38,5°C (39,5 °C), ½ µg/L 3×/j ≥ 10^9/L",
    "me\u0301te\u0301orisme e\u0302tre cœur co\u00adeur",
    "  deux  espaces\tune tabulation ",
    "TNF-α anti-TNF β2 IgG/IgM Na+ K+ 12h30 120/80 +/- n°5",
    "a_b @c #d {e} [f] <g> \\h | ~i `j` \"k\" ''l'' — – - −",
    "漢字 Ελλάδα Москва 😀 ﬁn № ²",
    "Le <mask> et [MASK] d'une <mask>.",
    "",
)
REMEDY = (
    'if its tokenizer.json is right, write "tokenizer_class": "PreTrainedTokenizerFast" into the tokenizer_config.json '
    "of a copy; if the class is, remove tokenizer.json from the copy"
)
LIMIT = "max_input_chars_per_word"  # of a WordPiece
LONGEST_WORD = 10_000  # characters; a WordPiece takes time by their square
VOCABULARIES = ("tokenizer.json", "vocab.*", "*.model")  # the files of which AutoTokenizer makes a tokenizer


class PublishedTokenizer:
    """AutoTokenizer's reading of a folder. `tokens` gives the token of every role, `ids` their ids."""

    def __init__(self, folder: Path, longest_word: int | None = None):
        """Raise InputError where AutoTokenizer gives none that can be used, or contradicts the folder's own file.

        longest_word: characters of the longest word that its WordPiece is to split, where the folder says fewer.
        """
        self.folder = folder
        self.auto = self.published = auto_tokenizer(folder)
        if not self.auto.is_fast:
            raise InputError(
                f"{folder}: transformers makes no fast tokenizer of it; add a tokenizer.json to the folder."
            )
        rules = self._with_long_words(longest_word)
        with reading(f"{folder}: its tokenizer cannot be saved"):
            self.backend = Tokenizer.from_str(rules)
        self.backend.no_truncation()
        self.backend.no_padding()
        self.tokens = self._tokens()
        vocabulary = self.backend.get_vocab()
        self.ids = {role: vocabulary[token] for role, token in self.tokens.items()}
        self._check_special(vocabulary)
        self._check_enclosing()
        if not _token_texts(self.backend):  # what version 5 makes of a class without its files
            raise InputError(f"{folder}: holds no tokenizer; put the published one's files into it.")
        self.texts = texts_of(self.backend)
        if (folder / "tokenizer.json").is_file():
            self._check_own_file(folder / "tokenizer.json", same_limit=longest_word is None)
        else:
            self._check_sentencepiece()
        if longest_word:  # from here on, only the generator's is compared with the published one
            self.auto = PreTrainedTokenizerFast(tokenizer_object=self.backend, **self._settings())

    @property
    def longest_word(self) -> int | None:
        """Characters of the longest word that a WordPiece splits; longer ones are unknown. None for other models."""
        return getattr(self.backend.model, LIMIT, None)

    def _with_long_words(self, longest: int | None) -> str:
        """tokenizer.json, whose WordPiece splits words up to so many characters."""
        rules = json.loads(self.auto.backend_tokenizer.to_str())
        if longest is not None:
            if rules["model"]["type"] != "WordPiece":
                raise InputError(
                    f"--longest-word {longest}: is for a WordPiece, and {self.folder} has a {rules['model']['type']} "
                    "model; leave it out."
                )
            if not 1 <= longest <= LONGEST_WORD:
                raise InputError(f"--longest-word {longest}: give 1 to {LONGEST_WORD:,}.")
            rules["model"][LIMIT] = longest
        return json.dumps(rules)

    def _settings(self) -> dict:
        kept = ("bos_token", "eos_token", "model_input_names", "clean_up_tokenization_spaces")
        return {name: getattr(self.auto, name) for name in (*ROLES.values(), *kept)}

    def _tokens(self) -> dict[str, str]:
        begin, end = (getattr(self.auto, name) for name in ("bos_token", "eos_token"))  # where there is no [CLS], [SEP]
        tokens = {role: getattr(self.auto, name) for role, name in ROLES.items()}
        tokens = {"begin": tokens.pop("begin") or begin, "end": tokens.pop("end") or end} | tokens
        if missing := [role for role, token in tokens.items() if not token]:
            raise InputError(
                f"{self.folder}: its tokenizer has no {ROLES[missing[0]]}, which pretraining needs; name one in a "
                "copy of tokenizer_config.json."
            )
        return tokens

    def _check_special(self, vocabulary: dict[str, int]) -> None:
        roles: dict[str, str] = {}  # by their tokens
        for role, token in self.tokens.items():
            if other := roles.get(token):
                raise InputError(
                    f"{self.folder}: {token} is both {ROLES[other]} and {ROLES[role]}; give each a token of its own in "
                    "a copy of tokenizer_config.json."
                )
            roles[token] = role
        unknown = getattr(self.backend.model, "unk_token", None)
        if unknown is not None and unknown not in vocabulary:
            raise InputError(
                f"{self.folder}: its vocabulary lacks the unknown token {unknown} of tokenizer.json; copy the "
                "published tokenizer's files again."
            )

    def _check_enclosing(self) -> None:
        [got], [inside] = _encode(self.auto, ["a"]), _ids(self.backend, ["a"], self.folder, add_special_tokens=False)
        if got != [self.ids["begin"], *inside, self.ids["end"]]:
            raise InputError(
                f"{self.folder}: its tokenizer does not put a text between {self.tokens['begin']} and "
                f"{self.tokens['end']}; only {ROLES['begin']} TEXT {ROLES['end']} can be continued."
            )

    def _check_own_file(self, file: Path, same_limit: bool) -> None:
        own = tokenizer_file(file)
        both = f"{self.folder}: AutoTokenizer, by its class {type(self.auto).__name__}, and tokenizer.json differ"
        for text, ids, others in zip(
            self.texts, _encode(self.auto, self.texts), _ids(own, self.texts, self.folder), strict=True
        ):
            if ids != others:
                tokens = (self.auto.convert_ids_to_tokens(ids), list(map(own.id_to_token, others)))
                raise InputError(f"{both}, for {text!r} {tokens[0]} and {tokens[1]}; {REMEDY}.")
        limits = [getattr(model, LIMIT, None) for model in (self.auto.backend_tokenizer.model, own.model)]
        if same_limit and limits[0] != limits[1]:
            raise InputError(f"{both}, in the longest word that they split: {limits[0]} and {limits[1]}; {REMEDY}.")

    def _check_sentencepiece(self) -> None:
        """Raise InputError where the tokenizer made of a sentencepiece model has other ids than the model itself.

        Some classes of transformers 5 leave out the model's rules for characters. ALBERT's changes texts by rules of
        its own, so it is not compared.
        """
        files = list(self.folder.glob("*.model"))
        if len(files) != 1 or hasattr(self.auto, "keep_accents"):
            return
        try:
            model = SentencePieceProcessor(model_file=str(files[0]))
        except Exception as error:  # the library raises a RuntimeError or an OSError
            raise InputError(f"{files[0]}: no sentencepiece model ({reason(error)}); copy it again.") from None
        lower = getattr(self.auto, "do_lower_case", False)
        texts = [text.lower() if lower else text for text in self.texts]
        texts = [text for text in texts if not any(token in text for token in self.tokens.values())]
        for text, ids in zip(texts, _encode(self.auto, texts), strict=True):
            own = [self.tokens["unknown"] if n == model.unk_id() else model.id_to_piece(n) for n in model.encode(text)]
            if (tokens := self.auto.convert_ids_to_tokens(ids)[1:-1]) != own:
                raise InputError(
                    f"{self.folder}: AutoTokenizer, by its class {type(self.auto).__name__}, and {files[0].name} "
                    f"differ, for {text!r} {tokens} and {own}; {make_file(self.folder)}."
                )

    def write(self, directory: Path, tokenizer: Tokenizer, length: int) -> None:
        """Write tokenizer.json and tokenizer_config.json for texts of at most `length` tokens.

        `tokenizer` is the backend, or the backend with more pieces.
        """
        (directory / "tokenizer.json").write_text(tokenizer.to_str(pretty=True), encoding="utf-8", newline="\n")
        config = {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": length,
            "clean_up_tokenization_spaces": bool(getattr(self.auto, "clean_up_tokenization_spaces", False)),
            "model_input_names": list(self.auto.model_input_names),
            "bos_token": self.tokens["begin"],
            "eos_token": self.tokens["end"],
        } | {name: self.tokens[role] for role, name in ROLES.items()}
        sides = {name: getattr(self.auto, name) for name in ("padding_side", "truncation_side")}
        config |= {name: side for name, side in sides.items() if side != "right"}
        write_json(directory / "tokenizer_config.json", config, shared=True)

    def check_written(self, directory: Path, tokenizer: Tokenizer, origin: Path) -> int:
        """How many texts AutoTokenizer gives the ids there that `tokenizer` gives, or the published one if it is that.

        AutoTokenizer itself, for it is what users of the exported folder have. origin: the folder that a sentence
        names. Raises InputError for the first text with other ids, also those of preprocess.binarize.
        """
        texts, published = texts_of(tokenizer), tokenizer is self.backend
        expected = _encode(self.auto, texts) if published else _ids(tokenizer, texts, origin)
        written = AutoTokenizer.from_pretrained(directory, local_files_only=True, trust_remote_code=False)
        if other := _difference(texts, expected, written):
            raise InputError(f"{origin}: from what would be written, AutoTokenizer gives {other}; nothing was.")
        _check_binarized(directory, dict(zip(texts, expected, strict=True)), origin)
        return len(texts)

    def check_same(self, generator: Path) -> None:
        """Raise InputError where the generator's folder holds another tokenizer than the discriminator's."""
        if any(file for pattern in VOCABULARIES for file in generator.glob(pattern)):  # both as published
            if other := _difference(self.texts, _encode(self.published, self.texts), auto_tokenizer(generator)):
                raise InputError(f"{generator}: not the generator of {self.folder}: its tokenizer gives {other}.")


def texts_of(tokenizer: Tokenizer) -> list[str]:
    """What is compared: sentences, sentences full of signs, and the text of every token but the special ones."""
    return [*SENTENCES, *TRICKY, *_token_texts(tokenizer)]


def _token_texts(tokenizer: Tokenizer) -> list[str]:
    special = flagged(tokenizer)
    return [tokenizer.decode([n]) for n in sorted(tokenizer.get_vocab().values()) if n not in special]


def _check_binarized(directory: Path, expected: dict[str, list[int]], origin: Path) -> None:
    """Raise InputError where binarize gives a text other ids. It never gives a special token that text spells."""
    layout = read_layout(directory)
    encoder = LineEncoder(load_tokenizer(directory), layout)
    for text in filter(None, (*SENTENCES, *TRICKY)):
        found = encoder.encode([text])[0].tolist()
        if "<mask>" not in text and [layout.begin, *found] != expected[text]:
            flagged = sorted(encoder.never.intersection(expected[text][1:-1]))
            tokens = ", ".join(repr(encoder.tokenizer.id_to_token(number)) for number in flagged)
            cause = f", for it flags {tokens} as special" if tokens else ""
            raise InputError(
                f"{origin}: its tokenizer gives {text!r} ids that preprocess.binarize does not{cause}; correct "
                "tokenizer.json in a copy."
            )


def _encode(tokenizer: PreTrainedTokenizerBase, texts: list[str]) -> list[list[int]]:
    with reading(f"{tokenizer.name_or_path}: its tokenizer cannot read a text"):
        return tokenizer(texts, truncation=False, padding=False)["input_ids"]


def _ids(tokenizer: Tokenizer, texts: list[str], place: Path, **options) -> list[list[int]]:
    with reading(f"{place}: its tokenizer cannot read a text"):
        return [one.ids for one in tokenizer.encode_batch(texts, **options)]


def _difference(texts: list[str], expected: list[list[int]], tokenizer: PreTrainedTokenizerBase) -> str | None:
    for text, here, there in zip(texts, expected, _encode(tokenizer, texts), strict=True):
        if here != there:
            return f"{there[:8]} for {text!r}, not {here[:8]}"
    return None
