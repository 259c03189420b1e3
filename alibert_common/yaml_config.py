"""Small yaml files read into dataclasses, each mistake told in one sentence."""

import math
import types
import typing
from dataclasses import MISSING, fields
from pathlib import Path

import yaml

from alibert_common.errors import InputError
from alibert_common.files import read_text


class KeysOnce(yaml.SafeLoader):
    """Refuses a key that stands in a mapping twice, of which the last would count without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        """Raises InputError; the loader's `name` is that of the file."""
        found = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in found:
                raise InputError(
                    f"{self.name}, line {key.start_mark.line + 1}: the key {key.value!r} stands there twice; keep one "
                    "of them."
                )
            found.add(key.value)
        return super().construct_mapping(node, deep)


def mapping_of(file: Path) -> dict:
    """What a yaml file holds. Raises InputError for anything but `key: value` lines, and for a key that is there
    twice."""
    text = read_text(file)
    try:
        loader = KeysOnce(text)
        loader.name = str(file)
        values = loader.get_single_data()
    except yaml.YAMLError as error:
        raise InputError(f"{file}: not yaml ({' '.join(str(error).split())}).") from None
    if not isinstance(values, dict):
        raise InputError(f"{file}: a list of `key: value` lines is needed here.")
    return values


def built(cls: type, values: dict, file: Path, places: dict[str, str] | None = None):
    """A dataclass of these values. Raises InputError for an unknown or missing key and a value of another type, which
    names the file, or the place of a key that `places` has one for."""
    known, places = {one.name: one for one in fields(cls)}, dict.fromkeys(values, file) | (places or {})
    for key in values:
        if key not in known:
            raise InputError(f"{places[key]}: unknown key {key!r}; the known ones are {', '.join(known)}.")
    for name, one in known.items():
        if name not in values and one.default is MISSING and one.default_factory is MISSING:
            raise InputError(f"{file}: the key {name!r} is missing.")
    return cls(**{key: value_as(values[key], known[key].type, f"{places[key]}: {key}") for key in values})


def value_as(value: object, kind: type, place: str) -> object:
    """The value as its field's type; yaml reads 2e-5 as text and 1 as a whole number where a float is meant."""
    wanted = typing.get_args(kind) if isinstance(kind, types.UnionType) else (typing.get_origin(kind) or kind,)
    if float in wanted and isinstance(value, (int, str)) and not isinstance(value, bool):
        try:
            value = float(value)
        except (ValueError, OverflowError):  # of a whole number of 400 digits
            pass
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{place} is {value}; a finite number is needed.")
    if not isinstance(value, wanted) or isinstance(value, bool) and bool not in wanted:
        names = ["null" if one is types.NoneType else one.__name__ for one in wanted]
        raise InputError(f"{place} is {value!r}; {' or '.join(names)} is needed.")
    keys = [*value] if isinstance(value, dict) else []
    inner = [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    allowed = [held for one in typing.get_args(kind) for held in typing.get_args(one) or (one,)]
    # Whoever uses a plain dictionary checks what it holds; keys of others are words.
    if allowed and not (all(type(one) in allowed for one in inner) and all(isinstance(key, str) for key in keys)):
        raise InputError(f"{place} holds something other than words; put quotes around each of them.")
    return value


def yaml_value(text: str, place: str) -> object:
    """The value of a setting, given on the command line. Raises InputError for one that no yaml file could have."""
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        raise InputError(f"{place}: {text!r} is no yaml value; write it as in the protocol's file.") from None
