"""The recipes that are shipped say what they do."""

import re


def test_batches_are_as_large_as_the_recipe_says(repository):
    """fairseq makes batches of a multiple of --required-batch-size-multiple, 8 unless given."""
    recipes = sorted((repository / "recipes" / "pretrain").glob("*.sh"))
    assert len(recipes) >= 4
    for recipe in recipes:
        options = dict(re.findall(r"--(batch-size|required-batch-size-multiple) (\d+)", recipe.read_text()))
        assert int(options["batch-size"]) % int(options.get("required-batch-size-multiple", 8)) == 0, recipe.name
