"""Do other libraries read the exported folders, and do they give the numbers of the published ones?

    python tests/campaigns/other_libraries.py MODELS --make    # once, where this project is installed
    python tests/campaigns/other_libraries.py MODELS           # wherever one of the libraries is

--make writes MODELS/FAMILY for each family: a tiny folder as others publish it goes through alibert_fairseq.hf.load and
export to `encoder`; `entities` is a token classifier of it with a random head; expected.json has the states, words and
entities of a text. Then every library that is installed reads the two folders: the pipelines of transformers, ONNX,
spacy-transformers, spacy-huggingface-pipelines, edsnlp. What can be compared must be within 1e-4 of expected.json, or
of torch for ONNX; the encoders must also take a training step, and their pipelines be saved and read again without the
folder. Prints a table, with the largest difference; exits with 1 for failures. Needs HF_HUB_OFFLINE=1 to be a proof.
"""

import argparse
import json
import logging
import math
import shutil
import sys
import tempfile
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "helpers"))
FAMILIES = ("camembert", "roberta", "bert", "albert", "modernbert", "deberta", "deberta_rtd", "electra")
CHANGED = {  # what transformers 4 would misread in a folder of transformers 5
    "modernbert": {"global_rope_theta": 80000.0, "local_rope_theta": 5000.0},
    "deberta": {"legacy": False},
}
TEXT = "Le patient est traité par amoxicilline depuis trois jours."
DRUG = (26, 38)
LABELS = ("O", "B-DRUG", "I-DRUG")
TOLERANCE = 1e-4
FORMS = [(batch, length) for batch in (1, 3) for length in (1, 7, 60)]  # the models have 64 positions


def make(place: Path, family: str) -> None:
    """Write MODELS/FAMILY; what is expected comes from the published folder, but for the entities."""
    from published_models import FAMILIES as PUBLISHED
    from published_models import class_of, write_model
    from transformers import AutoModelForTokenClassification, AutoTokenizer

    from alibert_fairseq.hf.export import export
    from alibert_fairseq.hf.load import load

    with tempfile.TemporaryDirectory() as folder:
        published, loaded = Path(folder, "published"), Path(folder, "loaded")
        write_model(published, family, **CHANGED.get(family, {}))
        load(published, loaded)
        export(loaded / "checkpoint.pt", loaded, place / "encoder")
        ids = AutoTokenizer.from_pretrained(loaded)(TEXT)["input_ids"]
        with torch.no_grad():
            model = class_of(PUBLISHED[family][0]).from_pretrained(published).eval().base_model
            states = model(torch.tensor([ids])).last_hidden_state[0]
        model = class_of("AutoModelForMaskedLM").from_pretrained(words_of(published)).eval()
        words = filled(model, AutoTokenizer.from_pretrained(loaded))
    torch.manual_seed(1)
    model = AutoModelForTokenClassification.from_pretrained(place / "encoder", id2label=dict(enumerate(LABELS)))
    torch.nn.init.normal_(model.classifier.weight, std=0.3)
    model.save_pretrained(place / "entities")
    for file in (place / "encoder").glob("*token*.json"):
        shutil.copy(file, place / "entities")
    expected = {"ids": ids, "states": states.tolist(), "words": words, "entities": entities_of(place)}
    (place / "expected.json").write_text(json.dumps(expected))


def words_of(folder: Path) -> Path:
    """The folder of the model that fills masks: a discriminator has it inside."""
    return folder / "generator" if (folder / "generator").exists() else folder


def filled(model, tokenizer=None) -> list[list]:
    """(id, score) of the words that the pipeline proposes; model: a folder, or a model of transformers."""
    from transformers import pipeline

    pipe = pipeline("fill-mask", model=model, tokenizer=tokenizer)
    answers = pipe(TEXT.replace("traité", pipe.tokenizer.mask_token))
    return [[answer["token"], answer["score"]] for answer in answers]


def entities_of(place: Path) -> list[list]:
    """(label, start, end) of the entities that the pipeline finds."""
    from transformers import pipeline

    find = pipeline("token-classification", model=str(place / "entities"), aggregation_strategy="simple")
    return [[one["entity_group"], one["start"], one["end"]] for one in find(TEXT)]


def same(found, expected, what: str) -> None:
    """Raises ValueError for two that are not equal."""
    if found != expected:
        raise ValueError(f"other {what}: {found}, not {expected}")


def near(found: torch.Tensor, expected, what: str) -> str:
    """The largest difference, in words; raises ValueError for one above the tolerance, or NaN."""
    largest = (found - torch.as_tensor(expected)).abs().max().item()
    if not largest <= TOLERANCE:
        raise ValueError(f"{what} differ by {largest:.1e}")
    return f"{what} {largest:.1e}"


def encoder_is_right(model, expected: dict) -> str:
    """The difference of the last hidden states of an encoder that a library has read."""
    with torch.no_grad():
        states = model.eval()(input_ids=torch.tensor([expected["ids"]])).last_hidden_state
    return near(states, [expected["states"]], "states")


def fill_mask(place: Path, expected: dict) -> str:
    """The same words, with the same scores."""
    ids, scores = zip(*filled(str(words_of(place / "encoder"))), strict=True)
    expected_ids, expected_scores = zip(*expected["words"], strict=True)
    same(ids, expected_ids, "words")
    return near(torch.tensor(scores), expected_scores, "scores")


def token_classification(place: Path, expected: dict) -> str:
    """The same entities."""
    same(found := entities_of(place), expected["entities"], "entities")
    return f"{len(found)} entities"


def feature_extraction(place: Path, expected: dict) -> str:
    """The same ids and states."""
    from transformers import pipeline

    pipe = pipeline("feature-extraction", model=str(place / "encoder"), return_tensors=True)
    same(pipe.tokenizer(TEXT)["input_ids"], expected["ids"], "ids")
    return near(pipe(TEXT), [expected["states"]], "states")


class Logits(torch.nn.Module):
    """docs/howto/onnx.md's."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask):
        """(B, T) ids and whether they are real to logits."""
        output = self.model(input_ids=input_ids, attention_mask=attention_mask)
        return output.logits if "logits" in output else output.prediction_logits


def onnx(place: Path, expected: dict) -> str:
    """Of the model for words, that for entities, and ELECTRA's discriminator."""
    import transformers

    kinds = {"MaskedLM": words_of(place / "encoder"), "TokenClassification": place / "entities"}
    if place.name in ("bert", "albert", "electra"):
        kinds["PreTraining"] = place / "encoder"
    found = []
    for kind, folder in kinds.items():
        load = getattr(transformers, f"AutoModelFor{kind}")
        model = load.from_pretrained(folder, attn_implementation="eager")
        with tempfile.TemporaryDirectory() as written:
            found.append(near(onnx_differences(model, f"{written}/model.onnx"), 0.0, kind))
    return ", ".join(found)


def onnx_differences(model, file: str) -> torch.Tensor:
    """The largest difference of logits to those of torch, at real tokens, for each form of a batch."""
    import onnxruntime

    names, logits, differences = ["input_ids", "attention_mask"], Logits(model).eval(), []
    axes = {name: {0: "batch", 1: "length"} for name in [*names, "logits"]}
    example, generator = batch_of(2, 11, model.config), torch.Generator().manual_seed(1)
    torch.onnx.export(
        logits, example, file, input_names=names, output_names=["logits"], dynamic_axes=axes, dynamo=False
    )  # fmt: skip
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    for form in FORMS:
        ids, real = batch_of(*form, model.config, generator)
        theirs = session.run(["logits"], {"input_ids": ids.numpy(), "attention_mask": real.numpy()})[0]
        with torch.no_grad():
            difference = torch.from_numpy(theirs) - logits(ids, real)
        differences.append(difference[real == 1].abs().max())
    return torch.stack(differences)


def batch_of(batch: int, length: int, config, generator=None) -> tuple[torch.Tensor, torch.Tensor]:
    """Random ids and whether they are real; each row is shorter by a quarter than the one above it."""
    ids = torch.randint(config.vocab_size - 1, (batch, length), generator=generator)
    ids += ids >= config.pad_token_id  # every id but padding
    lengths = (length - torch.arange(batch) * length // 4).clamp(min=1)
    real = torch.arange(length) < lengths[:, None]
    return ids.where(real, torch.tensor(config.pad_token_id)), real.long()


def spacy_encoder(place: Path, expected: dict) -> str:
    """The states; a training step; the pipeline saved, and read without the folder."""
    import spacy
    from spacy.training import Example

    listener = {"@architectures": "spacy-transformers.TransformerListener.v1", "pooling": {"@layers": "reduce_mean.v1"}}
    parser = {"@architectures": "spacy.TransitionBasedParser.v2", "state_type": "ner", "extra_state_tokens": False}
    parser |= {"hidden_width": 32, "maxout_pieces": 2, "use_upper": False, "tok2vec": listener | {"grad_factor": 1.0}}
    spans = {"@span_getters": "spacy-transformers.strided_spans.v1", "window": 20, "stride": 15}
    with tempfile.TemporaryDirectory() as folder:
        encoder = shutil.copytree(place / "encoder", Path(folder, "encoder"))
        model = {"@architectures": "spacy-transformers.TransformerModel.v3", "name": str(encoder), "get_spans": spans}
        nlp = spacy.blank("fr")
        nlp.add_pipe("transformer", config={"model": model | {"tokenizer_config": {"use_fast": True}}})
        nlp.add_pipe("ner", config={"model": parser}).add_label("DRUG")
        example = Example.from_dict(nlp.make_doc(TEXT), {"entities": [(*DRUG, "DRUG")]})
        optimizer = nlp.initialize(lambda: [example])
        transformer = nlp.get_pipe("transformer").model.transformer
        right, before = encoder_is_right(transformer, expected), total(transformer)
        trained(nlp.update([example], sgd=optimizer)["ner"], before, transformer)
        nlp.to_disk(Path(folder, "saved"))
        shutil.rmtree(encoder)
        again = spacy.load(Path(folder, "saved"))
    states = [torch.as_tensor(one(TEXT)._.trf_data.model_output.last_hidden_state) for one in (nlp, again)]
    return f"{right}; trained; read again, {near(*states, 'states')}"


def total(model) -> float:
    """The sum of its parameters, which changes when they do."""
    return sum(parameter.detach().double().sum().item() for parameter in model.parameters())


def trained(loss: float, before: float, model) -> None:
    """Raises ValueError for a step that did nothing to the encoder."""
    if not math.isfinite(loss) or total(model) == before:
        raise ValueError(f"no training step: loss {loss}, encoder {before} and {total(model)}")


def spacy_pipeline(place: Path, expected: dict) -> str:
    """The entities of the pipeline, where they do not end inside one of spaCy's tokens."""
    import spacy

    nlp = spacy.blank("fr")
    config = {"aggregation_strategy": "simple", "alignment_mode": "expand", "stride": 8}
    nlp.add_pipe("hf_token_pipe", config=config | {"model": str(place / "entities")})
    doc = nlp(TEXT)
    spans = [doc.char_span(start, end, label, alignment_mode="expand") for label, start, end in expected["entities"]]
    same([str(one) for one in doc.ents], [str(one) for one in spacy.util.filter_spans(spans)], "entities")
    with tempfile.TemporaryDirectory() as folder:
        nlp.to_disk(folder)
        same(
            [str(one) for one in spacy.load(folder)(TEXT).ents], [str(one) for one in doc.ents], "entities, read again"
        )
    return f"{len(doc.ents)} entities; read again"


def edsnlp_encoder(place: Path, expected: dict) -> str:
    """The states; a training step; the pipeline saved, and read without the folder."""
    import edsnlp
    import edsnlp.pipes as eds

    with tempfile.TemporaryDirectory() as folder:
        encoder = shutil.copytree(place / "encoder", Path(folder, "encoder"))
        nlp = edsnlp.blank("eds")
        embedding = eds.transformer(model=str(encoder), window=60, stride=40)
        nlp.add_pipe(eds.ner_crf(embedding=embedding, mode="joint", target_span_getter="ents"), name="ner")
        doc = nlp.make_doc(TEXT)
        doc.ents = [doc.char_span(*DRUG, "DRUG", alignment_mode="expand")]
        nlp.post_init([doc])
        ner = nlp.pipes.ner
        transformer = ner.embedding.transformer
        right, before = encoder_is_right(transformer, expected), total(transformer)
        optimizer = torch.optim.AdamW(ner.parameters(), lr=1e-3)
        loss = ner.train()(ner.prepare_batch([doc], supervision=True))["loss"]
        loss.backward()
        optimizer.step()
        trained(loss.item(), before, transformer)
        ner.eval()
        nlp.to_disk(Path(folder, "saved"))
        shutil.rmtree(encoder)
        again = edsnlp.load(Path(folder, "saved"))
    states = [one.pipes.ner.embedding.transformer(torch.tensor([expected["ids"]])) for one in (nlp, again)]
    same([str(one) for one in again(TEXT).ents], [str(one) for one in nlp(TEXT).ents], "entities, read again")
    list(again.pipe([TEXT] * 3).set_processing(autocast=False))
    return f"{right}; trained; read again, {near(*(one.last_hidden_state for one in states), 'states')}"


CHECKS = {  # a function of MODELS/FAMILY and expected.json, and the packages that it needs
    "fill-mask": (fill_mask, ["transformers"]),
    "token-classification": (token_classification, ["transformers"]),
    "feature-extraction": (feature_extraction, ["transformers"]),
    "ONNX": (onnx, ["onnx", "onnxruntime", "transformers"]),
    "spaCy, as encoder": (spacy_encoder, ["spacy-transformers", "spacy", "transformers"]),
    "spaCy, entities": (spacy_pipeline, ["spacy-huggingface-pipelines", "spacy", "transformers"]),
    "edsnlp": (edsnlp_encoder, ["edsnlp", "transformers"]),
}


def versions(packages: list[str]) -> tuple[list[str], list[str]]:
    """(packages with versions, those that are missing)."""
    found, missing = [], []
    for package in packages:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            missing.append(package)
    return found, missing


def check(function, place: Path) -> tuple[str, bool]:
    """(the result, whether it failed)."""
    torch.manual_seed(1)
    try:
        return f"yes: {function(place, json.loads((place / 'expected.json').read_text()))}", False
    except Exception as error:  # of any library
        message = " ".join(str(error).split()).replace("|", "\\|")
        return f"failed: {type(error).__name__}: {message[:300]}", True


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path)
    parser.add_argument("--make", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    for family in FAMILIES if options.make else ():
        make(options.models / family, family)
    if options.make:
        return 0
    print("| family | library | result |\n|---|---|---|")
    failures = 0
    for name, (function, packages) in CHECKS.items():
        found, missing = versions(packages)
        for family in FAMILIES:
            result, failed = (
                (f"missing: {', '.join(missing)}", False) if missing else check(function, options.models / family)
            )
            failures += failed
            print(f"| {family} | {name} ({', '.join(found)}) | {result} |", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
