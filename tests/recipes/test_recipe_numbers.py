"""Every option of every recipe is in tests/fixtures/paper_numbers.yaml with its source, and the other way round."""

import argparse
import re

import pytest
import torch
import yaml
from fairseq.data import Dictionary
from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_NAME_REGISTRY, MODEL_DATACLASS_REGISTRY, MODEL_REGISTRY
from recipe_helpers import arguments_of, as_options, recipes_of, run_recipe, start_for

import alibert_fairseq  # noqa: F401  registers the models

PLACES = {"--user-dir", "--save-dir"}  # where things lie
MILLION = 1_000_000


@pytest.fixture(scope="module")
def numbers(repository):
    return yaml.safe_load((repository / "tests" / "fixtures" / "paper_numbers.yaml").read_text(encoding="utf-8"))


@pytest.fixture
def options_of(repository, tmp_path):
    """A function: the options a recipe gives to fairseq-train, places left out, a checkpoint to start from as FROM."""

    def run(name, **variables):
        recipe = repository / "recipes" / "pretrain" / name
        start = start_for(recipe, tmp_path) | variables
        options = as_options(arguments_of(recipe, tmp_path, **start))
        return {
            key: "FROM" if value == start.get("FROM") else value for key, value in options.items() if key not in PLACES
        }

    return run


def number(value):
    """A float where it is one: 4e-4 and 0.0004 are the same number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return value


def test_every_recipe_is_in_the_fixture(numbers, repository):
    assert sorted(numbers["recipes"]) == [path.name for path in recipes_of(repository)]


def test_every_option_has_its_source_and_every_source_its_option(numbers, options_of):
    added = numbers["added"]
    for name, facts in numbers["recipes"].items():
        size = "tiny" if name.startswith("tiny_") else "large"
        expected = facts["options"] | added["always"] | added[size]
        found = options_of(name)
        assert sorted(found) == sorted(expected), name
        wrong = {key: found[key] for key, entry in expected.items() if number(found[key]) != number(entry[0])}
        assert not wrong, name


def test_entries_say_where_they_come_from(numbers):
    """A paper is quoted, a repository has a name and a file, what is ours has a reason."""
    groups = [facts["options"] for facts in numbers["recipes"].values()]
    groups += [*numbers["added"].values(), *numbers["models"].values()]
    groups += [{key: facts[key] for key in facts if key != "options"} for facts in numbers["recipes"].values()]
    for value, source, place, *words in (entry for group in groups for entry in group.values()):
        assert place and len(words) == (source in numbers["papers"]), (value, source, place)
        assert source in numbers["papers"] or source == "ours" or re.fullmatch(r"[\w-]+/[\w-]+", source), source


def test_the_launch_command_makes_the_batch_of_the_paper(numbers, options_of, repository):
    """GPUs of the header's command x sequences of a GPU x --update-freq."""
    for name, facts in numbers["recipes"].items():
        text = (repository / "recipes" / "pretrain" / name).read_text(encoding="utf-8")
        assert facts["batch"][0] == batch(options_of(name)) * gpus(text, name), name


def batch(options) -> int:
    """Sequences of one process an update."""
    return int(options["--batch-size"]) * int(options.get("--update-freq", 1))


def gpus(text: str, name: str) -> int:
    """Of the launch command in a recipe's header; one for the recipes that are run without the launcher."""
    command = re.search(rf"^#.* alibert_fairseq\.launch recipes/pretrain/{name}(.*)$", text, re.MULTILINE)
    assert command or name.startswith("tiny_"), name
    words = command[1] if command else ""
    counts = [int(count) for count in re.findall(r"--(?:nodes|gpus-per-node) (\d+)", words)]
    return torch.tensor(counts).prod().item() if counts else 1


def test_headers_have_the_vocabulary_and_the_time_of_the_paper(numbers, repository):
    for name, facts in numbers["recipes"].items():
        header = (repository / "recipes" / "pretrain" / name).read_text(encoding="utf-8").partition("\noptions=(")[0]
        sizes = [int(size) for size in re.findall(r"--vocab-size (\d+)", header)]
        assert sizes == ([facts["vocabulary"][0]] if "vocabulary" in facts else []), name
        assert "cost" not in facts or facts["cost"][0] in " ".join(header.replace("#", " ").split()), name


@pytest.mark.parametrize("variant", "base1 base2 large1 large2 base3 base4 large3 large4".split())
def test_variants_of_bioalbert_are_the_rows_of_its_table_4(variant, numbers, options_of):
    facts = numbers["variants"][variant]
    options = options_of("bioalbert.sh", VARIANT=variant)
    updates = re.search(r" (\d+)K$", facts["row"])[1] + "000"
    assert f" {variant.capitalize()} " in facts["row"]
    assert options["--arch"] == "albert_" + variant.rstrip("1234")
    assert (options["--max-update"], options["--total-num-update"]) == (updates, updates)
    assert batch(options) * 8 == facts["batch"]
    assert float(options["--lr"]) == pytest.approx(1.76e-3 * (facts["batch"] / 4096) ** 0.5)  # ALBERT's, scaled


def test_bioalbert_names_its_variants_with_corpora_and_days(numbers, repository, tmp_path):
    done = run_recipe(repository / "recipes" / "pretrain" / "bioalbert.sh", tmp_path, VARIANT="base5")
    assert done.returncode == 2 and done.stderr.startswith("error: VARIANT=base5 is none of these")
    rows = {line.split()[0]: line for line in done.stderr.splitlines()[1:]}
    assert list(rows) == list(numbers["variants"])
    for variant, facts in numbers["variants"].items():
        corpora = [word for word in ("Wikipedia", "BooksCorpus", "PubMed", "PMC", "MIMIC-III") if word in facts["row"]]
        assert rows[variant].endswith("  " + ", ".join(corpora))
        assert f" {facts['days'].split()[1]} days " in rows[variant]


def test_models_are_as_large_as_the_papers_say(numbers):
    for arch, facts in numbers["models"].items():
        sizes = {key: entry[0] for key, entry in facts.items() if key not in ("vocabulary", "parameters")}
        args = argparse.Namespace()
        ARCH_CONFIG_REGISTRY[arch](args)
        assert {key: getattr(args, key) for key in sizes} == sizes, arch
        if "parameters" in facts:
            count = parameters(arch, args, facts["vocabulary"][0])
            # ALBERT-large: 17.8 with heads and pooler, 16.6 without; embeddings of 128: docs/reference/papers.md
            assert count / MILLION == pytest.approx(facts["parameters"][0], rel=0.12), arch


def parameters(arch: str, args: argparse.Namespace, vocabulary: int) -> int:
    """Of the whole model with so many ids."""
    name = ARCH_MODEL_NAME_REGISTRY[arch]
    dictionary = Dictionary()
    for index in range(vocabulary - len(dictionary) - 1):
        dictionary.add_symbol(f"piece{index}")
    dictionary.add_symbol("<mask>")
    config = MODEL_DATACLASS_REGISTRY[name](**vars(args))
    with torch.device("meta"):
        model = MODEL_REGISTRY[name](config, dictionary)
    return sum(parameter.numel() for parameter in model.parameters())


def test_albert_large_with_embeddings_of_256_would_be_larger_than_the_paper_says(numbers):
    """Why "the large model had 256 embedding size and 16 million parameters" is read as 128."""
    args = argparse.Namespace()
    ARCH_CONFIG_REGISTRY["albert_large"](args)
    args.embedding_dim = 256
    facts = numbers["models"]["albert_large"]
    count = parameters("albert_large", args, facts["vocabulary"][0])
    assert count > 1.3 * facts["parameters"][0] * MILLION
