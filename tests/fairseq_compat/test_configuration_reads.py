"""Reads of a configuration give what omegaconf gives."""

import pytest
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import MissingMandatoryValue

import fairseq_compat  # noqa: F401

CONTENT = {
    "number": 3, "share": 0.5, "text": "a", "dollar": "$5", "yes": True, "nothing": None, "same": "${number}",
    "joined": "n${number}", "absent": "???", "several": [1, 2], "part": {"inner": 7},
}  # fmt: skip


def test_a_read_is_that_of_the_key():
    config = OmegaConf.create(CONTENT)
    for name in CONTENT.keys() - {"absent"}:
        assert getattr(config, name) == config[name], name
    assert (config.same, config.joined, config.dollar, config.nothing) == (3, "n3", "$5", None)
    assert isinstance(config.part, DictConfig) and config.part.inner == 7
    with pytest.raises(MissingMandatoryValue):
        config.absent  # noqa: B018


def test_a_change_is_seen():
    config = OmegaConf.create(CONTENT)
    assert config.part.inner == 7
    config.part.inner, config.number = 8, 4
    assert (config.part.inner, config.number, config.same) == (8, 4, 4)


def test_what_is_not_there_is_as_before():
    config = OmegaConf.create(CONTENT)
    assert config.other is None and getattr(config, "other", 5) is None  # omegaconf 2.0.6 without `struct`
    OmegaConf.set_struct(config, True)
    with pytest.raises(AttributeError):
        config.other  # noqa: B018
    assert getattr(config, "other", 5) == 5
