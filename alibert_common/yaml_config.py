"""YAML files read into dataclasses. One sentence names each mistake."""

import math
import types
import typing
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, TypeVar

import yaml

from alibert_common.errors import InputError
from alibert_common.files import read_text

T = TypeVar("T")


class StrictLoader(yaml.SafeLoader):
    """Loader that keeps keys and dates as text, and refuses a repeated key: YAML would forget its first value."""

    yaml_implicit_resolvers = {
        sign: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
        for sign, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        """Make a dict. Raises MarkedYAMLError for a key that is not a word or is repeated."""
        keys = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.MarkedYAMLError(problem="a key is one word", problem_mark=key.start_mark)
            if key.value in keys:
                problem = f"the key {key.value!r} stands there twice; keep one of them"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
            keys.add(key.value)
            if key.tag != "tag:yaml.org,2002:merge":
                key.tag = "tag:yaml.org,2002:str"
        return super().construct_mapping(node, deep)


def read_yaml(file: Path) -> dict:
    """Read the mapping of a YAML file. Raises InputError, with the line, for anything else."""
    values = _parsed(read_text(file), f"{file}")
    if not isinstance(values, dict):
        raise InputError(f"{file}: holds no `key: value` lines; write one for each setting.")
    return values


def _parsed(text: str, place: str) -> object:
    try:
        return yaml.load(text, StrictLoader)
    except RecursionError:
        raise InputError(f"{place}: not YAML (too many levels of brackets or indents); correct it.") from None
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        remedy = "write the text in single quotes" if "escape" in str(error.problem) else "correct it there"
        raise InputError(f"{place}{line}: not YAML ({error.problem}); {remedy}.") from None
    except (yaml.YAMLError, ValueError) as error:  # a ValueError is of a number with thousands of digits
        raise InputError(f"{place}: not YAML ({' '.join(str(error).split())}); correct it.") from None


def built(cls: type[T], values: dict, file: Path, places: dict[str, str] | None = None) -> T:
    """Make a dataclass of the values. Raises InputError for an unknown or missing key and for a value of another type.

    The sentence names the file, or the place of the key in `places`.
    """
    known = {field.name: field for field in fields(cls)}  # type: ignore[arg-type]
    place_of = dict.fromkeys(values, str(file)) | (places or {})
    for key in values:
        if key not in known:
            raise InputError(f"{place_of[key]}: unknown key {key!r}; the known ones are {', '.join(known)}.")
    for name, field in known.items():
        if name not in values and field.default is MISSING and field.default_factory is MISSING:
            raise InputError(f"{file}: the key {name!r} is missing.")
    return cls(**{key: value_as(values[key], known[key].type, f"{place_of[key]}: {key}") for key in values})


def value_as(value: object, kind: Any, place: str) -> object:
    """Return the value as the type of its field. YAML reads 2e-5 as text, and 1 as an integer where it is a float."""
    wanted = typing.get_args(kind) if isinstance(kind, types.UnionType) else (typing.get_origin(kind) or kind,)
    if float in wanted and isinstance(value, (int, str)) and not isinstance(value, bool):
        try:
            value = float(value)
        except (ValueError, OverflowError):  # of a whole number of 400 digits
            pass
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{place} is {value}; a finite number is needed.")
    if not isinstance(value, wanted) or isinstance(value, bool) and bool not in wanted:
        names = ["null" if cls is types.NoneType else cls.__name__ for cls in wanted]
        raise InputError(f"{place} is {value!r}; {' or '.join(names)} is needed.")
    keys = [*value] if isinstance(value, dict) else []
    inner = [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    allowed = [member for part in typing.get_args(kind) for member in typing.get_args(part) or (part,)]
    # The caller checks what a plain dictionary holds. Keys of other dictionaries are words.
    if allowed and not (all(type(item) in allowed for item in inner) and all(isinstance(key, str) for key in keys)):
        raise InputError(f"{place} holds something other than words; put quotes around each of them.")
    return value


def yaml_value(text: str, place: str) -> object:
    """Return the value of a setting on the command line. Raises InputError for one that no YAML file can have."""
    return _parsed(text, f"{place}: {text!r}")
