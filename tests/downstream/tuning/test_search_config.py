"""`downstream.search` searches the form that is asked for, and names it in its output and in the next command."""

import pytest
from tiny_models import write_roberta

from alibert_common.errors import InputError
from downstream import search
from downstream.learners.registry import ENCODER, FORMS


@pytest.mark.parametrize("words, kind", [([], ENCODER), (["--form", "tagger"], FORMS["tagger"])])
def test_the_form_is_the_one_that_is_asked_for(words, kind, repository, tmp_path):
    write_roberta(tmp_path / "model")
    recipe = str(repository / "recipes" / "finetune" / "sample.yaml")
    args = search.build_parser().parse_args(
        [recipe, "--model", str(tmp_path / "model"), "--grid", "epochs=1,2", *words]
    )
    config, _ = search.search_config(args)
    assert config.kind == kind and ("tagger" in config.output.name) is bool(words)
    assert ("--form tagger" in search.next_command(args, config.output)) is bool(words)


def test_a_tagger_is_not_frozen(repository, tmp_path):
    write_roberta(tmp_path / "model")
    recipe = str(repository / "recipes" / "finetune" / "sample.yaml")
    args = search.build_parser().parse_args(
        [recipe, "--model", str(tmp_path / "model"), "--grid", "epochs=1,2", "--form", "tagger", "--frozen"]
    )
    with pytest.raises(InputError, match="--form tagger: --frozen would change nothing"):
        search.search_config(args)
