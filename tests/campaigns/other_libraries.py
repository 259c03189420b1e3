"""Do other libraries read the exported folders, and do they give the numbers of the published ones?

    python tests/campaigns/other_libraries.py MODELS --make    # once, where this project is installed
    python tests/campaigns/other_libraries.py MODELS           # wherever one of the libraries is installed

--make writes MODELS/FAMILY for each family: a tiny folder as others publish it goes through alibert_fairseq.hf.load and
export to `encoder`; `entities` is a token classifier made of it, with a random head; expected.json has what
transformers says of the published folder, and of the entities. Then every library that is installed reads the two: the
pipelines of transformers, ONNX, spacy-transformers, spacy-huggingface-pipelines, edsnlp. Numbers must be within 1e-4 of
those in expected.json (ONNX: of torch). Encoders also take a training step, and their pipeline is saved and read again
without the folder. Prints a table with the largest differences; exits with 1 for failures. Set HF_HUB_OFFLINE=1.
"""

import argparse
import json
import logging
import shutil
import sys
import tempfile
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "helpers"))
NAMES = ("camembert", "roberta", "bert", "albert", "modernbert", "deberta", "deberta_rtd", "electra")
FAMILIES = {name: (name, {}) for name in NAMES} | {  # what transformers 4 misreads in a folder of transformers 5
    "deberta": ("deberta", {"legacy": False}),
    "modernbert_bases": ("modernbert", {"global_rope_theta": 80000.0, "local_rope_theta": 5000.0}),
}
TEXT = "Le patient est traité par amoxicilline depuis trois jours."
DRUG = (26, 38, "DRUG")
TOLERANCE = 1e-4


def make(place: Path, family: str, changed: dict) -> None:
    """Write MODELS/FAMILY; changed: settings of the published config.json."""
    from published_models import FAMILIES as PUBLISHED
    from published_models import class_of, write_model
    from transformers import AutoModelForMaskedLM, AutoModelForTokenClassification, AutoTokenizer

    from alibert_fairseq.hf.export import export
    from alibert_fairseq.hf.load import load
    from downstream.training.models import save_model

    with tempfile.TemporaryDirectory() as folder:
        published, loaded = Path(folder, "published"), Path(folder, "loaded")
        write_model(published, family, **changed)
        load(published, loaded)
        export(loaded / "checkpoint.pt", loaded, place / "encoder")
        tokenizer = AutoTokenizer.from_pretrained(loaded)
        expected = {"ids": tokenizer(TEXT)["input_ids"]}
        model = class_of(PUBLISHED[family][0]).from_pretrained(published).base_model
        expected["states"] = states_of(model, expected).tolist()
        expected["words"] = words_of(AutoModelForMaskedLM.from_pretrained(for_words(published)), tokenizer)
    torch.manual_seed(1)
    labels = dict(enumerate(("O", "B-DRUG", "I-DRUG")))
    model = AutoModelForTokenClassification.from_pretrained(place / "encoder", id2label=labels)
    torch.nn.init.normal_(model.classifier.weight, std=0.3)
    save_model(model, place / "encoder", place / "entities", {})
    (place / "expected.json").write_text(json.dumps(expected | {"entities": entities_of(finder(place))}))


def for_words(folder: Path) -> Path:
    """The folder of the model that fills masks: a discriminator has it inside."""
    return folder / "generator" if (folder / "generator").exists() else folder


def words_of(model, tokenizer=None) -> list[list]:
    """(id, score) of the words that the pipeline proposes; model: a folder, or one of transformers."""
    from transformers import pipeline

    pipe = pipeline("fill-mask", model=model, tokenizer=tokenizer)
    return [[one["token"], one["score"]] for one in pipe(TEXT.replace("traité", pipe.tokenizer.mask_token))]


def finder(place: Path):
    """The pipeline for entities."""
    from transformers import pipeline

    return pipeline("token-classification", model=str(place / "entities"), aggregation_strategy="simple")


def entities_of(find) -> list[list]:
    """(start, end, label, score) of the entities that the pipeline finds."""
    return [[one["start"], one["end"], one["entity_group"], float(one["score"])] for one in find(TEXT)]


@torch.no_grad()
def states_of(model, expected: dict) -> torch.Tensor:
    """The last hidden states of the text, of any encoder of transformers."""
    return model.eval()(input_ids=torch.tensor([expected["ids"]])).last_hidden_state


def same(found, expected, what: str) -> None:
    """Raises ValueError for two that are not equal."""
    if found != expected:
        raise ValueError(f"other {what}: {found}, not {expected}")


def near(found, expected, what: str) -> str:
    """The largest difference, in words; raises ValueError for one above the tolerance, or NaN."""
    largest = (torch.as_tensor(found) - torch.as_tensor(expected)).abs().max().item()
    if not largest <= TOLERANCE:
        raise ValueError(f"{what} differ by {largest:.1e}")
    return f"{what} {largest:.1e}"


def scored_alike(found: list[list], expected: list[list], what: str) -> str:
    """The same lists, whose last item is a score."""
    same([one[:-1] for one in found], [one[:-1] for one in expected], what)
    return f"{len(found)} {what}, " + near([one[-1] for one in found], [one[-1] for one in expected], "scores")


def fill_mask(place: Path, expected: dict) -> str:
    """The same words, with the same scores."""
    return scored_alike(words_of(str(for_words(place / "encoder"))), expected["words"], "words")


def token_classification(place: Path, expected: dict) -> str:
    """The same entities, with the same scores."""
    return scored_alike(entities_of(finder(place)), expected["entities"], "entities")


def feature_extraction(place: Path, expected: dict) -> str:
    """The same ids and states."""
    from transformers import pipeline

    pipe = pipeline("feature-extraction", model=str(place / "encoder"), return_tensors=True)
    same(pipe.tokenizer(TEXT)["input_ids"], expected["ids"], "ids")
    return near(pipe(TEXT), expected["states"], "states")


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
    """The model for words, that for entities, and the one with a sentence head or ELECTRA's."""
    import transformers

    folders = {"MaskedLM": for_words(place / "encoder"), "TokenClassification": place / "entities"}
    if place.name in ("bert", "albert", "electra"):
        folders["PreTraining"] = place / "encoder"
    found = []
    for kind, folder in folders.items():
        load = getattr(transformers, f"AutoModelFor{kind}")
        found.append(near(onnx_differences(load.from_pretrained(folder, attn_implementation="eager")), 0.0, kind))
    return ", ".join(found)


@torch.no_grad()
def onnx_differences(model) -> list[float]:
    """The largest difference of logits to those of torch, at real tokens, for each form of a batch."""
    import onnxruntime

    names, logits = ["input_ids", "attention_mask"], Logits(model).eval()
    axes = {name: {0: "batch", 1: "length"} for name in [*names, "logits"]}
    example, options = batch_of(2, 11, model.config), {"output_names": ["logits"], "dynamic_axes": axes}
    with tempfile.TemporaryDirectory() as folder:
        torch.onnx.export(logits, example, f"{folder}/onnx", input_names=names, **options, dynamo=False)
        session = onnxruntime.InferenceSession(f"{folder}/onnx", providers=["CPUExecutionProvider"])
    differences = []
    for batch, length in [(batch, length) for batch in (1, 3) for length in (1, 7, 60)]:
        ids, real = batch_of(batch, length, model.config)
        theirs = session.run(["logits"], {"input_ids": ids.numpy(), "attention_mask": real.numpy()})[0]
        differences.append((torch.from_numpy(theirs) - logits(ids, real))[real == 1].abs().max().item())
    return differences


def batch_of(batch: int, length: int, config) -> tuple[torch.Tensor, torch.Tensor]:
    """Random ids and whether they are real; each row is shorter by a quarter than the one above it."""
    ids = torch.randint(config.vocab_size - 1, (batch, length))
    ids += ids >= config.pad_token_id  # every id but padding
    lengths = (length - torch.arange(batch) * length // 4).clamp(min=1)
    real = torch.arange(length) < lengths[:, None]
    return ids.where(real, torch.tensor(config.pad_token_id)), real.long()


def spacy_encoder(place: Path, expected: dict) -> str:
    """Two training steps: in the first, the parser's output layer is still zero and has no gradient for the encoder."""
    import spacy
    from spacy.training import Example

    spans = {"@span_getters": "spacy-transformers.strided_spans.v1", "window": 20, "stride": 15}
    listener = {"@architectures": "spacy-transformers.TransformerListener.v1", "grad_factor": 1.0}
    listener |= {"pooling": {"@layers": "reduce_mean.v1"}}
    nlp = spacy.blank("fr")
    nlp.add_pipe("transformer", config={"model": {"name": str(place / "encoder"), "get_spans": spans}})
    nlp.add_pipe("ner", config={"model": {"tok2vec": listener}})
    example = Example.from_dict(nlp.make_doc(TEXT), {"entities": [DRUG]})
    optimizer = nlp.initialize(lambda: [example])

    def step() -> None:
        for _ in range(2):
            nlp.update([example], sgd=optimizer)

    return encoder(nlp, lambda nlp: nlp.get_pipe("transformer").model.transformer, step, spacy.load, place, expected)


def edsnlp_encoder(place: Path, expected: dict) -> str:
    """eds.ner_crf on eds.transformer, whose window leaves room for the two ends."""
    import edsnlp
    import edsnlp.pipes as eds

    nlp = edsnlp.blank("eds")
    embedding = eds.transformer(model=str(place / "encoder"), window=62, stride=40)
    nlp.add_pipe(eds.ner_crf(embedding=embedding, mode="joint", target_span_getter="ents"), name="ner")
    doc = nlp.make_doc(TEXT)
    doc.ents = [doc.char_span(*DRUG, alignment_mode="expand")]
    nlp.post_init([doc])
    ner = nlp.pipes.ner

    def step() -> None:
        ner.train()(ner.prepare_batch([doc], supervision=True))["loss"].backward()
        torch.optim.AdamW(ner.parameters(), lr=1e-3).step()
        ner.eval()

    return encoder(nlp, lambda nlp: nlp.pipes.ner.embedding.transformer, step, edsnlp.load, place, expected)


def encoder(nlp, transformer, step, load, place: Path, expected: dict) -> str:
    """Its states are right, a step changes them, and the saved pipeline gives the changed ones without the folder."""
    right = near(before := states_of(transformer(nlp), expected), expected["states"], "states")
    step()
    after = states_of(transformer(nlp), expected)
    if not after.isfinite().all() or torch.equal(before, after):
        raise ValueError("no training step")
    with tempfile.TemporaryDirectory() as folder:
        nlp.to_disk(Path(folder, "saved"))
        shutil.rmtree(place)
        again = load(Path(folder, "saved"))
    same(str(again(TEXT).ents), str(nlp(TEXT).ents), "entities, read again")
    return f"{right}; trained; read again, {near(states_of(transformer(again), expected), after, 'states')}"


def spacy_pipeline(place: Path, expected: dict) -> str:
    """The same entities, but for those that begin inside a token of spaCy which is already taken."""
    import spacy

    nlp, kept, taken = spacy.blank("fr"), [], 0
    config = {"aggregation_strategy": "simple", "alignment_mode": "expand", "stride": 8}
    found = nlp.add_pipe("hf_token_pipe", config=config | {"model": str(place / "entities")}).hf_pipeline
    right = scored_alike(entities_of(found), expected["entities"], "entities")
    doc = nlp(TEXT)
    for start, end, label, _ in expected["entities"]:
        span = doc.char_span(start, end, label, alignment_mode="expand")
        if span.start_char >= taken:
            kept, taken = [*kept, span], end
    same(str(doc.ents), str(tuple(kept)), "entities")
    with tempfile.TemporaryDirectory() as folder:
        nlp.to_disk(folder)
        same(str(spacy.load(folder)(TEXT).ents), str(doc.ents), "entities, read again")
    return f"{right}; {len(kept)} kept"


CHECKS = {  # the packages, and a function of MODELS/FAMILY and what is expected; it gives the result, or raises
    "fill-mask": (["transformers"], fill_mask),
    "token-classification": (["transformers"], token_classification),
    "feature-extraction": (["transformers"], feature_extraction),
    "ONNX": (["onnx", "onnxruntime", "transformers"], onnx),
    "spaCy, encoder": (["spacy-transformers", "spacy", "transformers"], spacy_encoder),
    "spaCy, entities": (["spacy-huggingface-pipelines", "spacy", "transformers"], spacy_pipeline),
    "edsnlp": (["edsnlp", "transformers"], edsnlp_encoder),
}


def check(function, place: Path) -> tuple[str, bool]:
    """(the result, whether it failed) with a copy of the folder, which the function may remove."""
    torch.manual_seed(1)
    try:
        expected = json.loads((place / "expected.json").read_text())
        with tempfile.TemporaryDirectory() as folder:
            return f"yes: {function(shutil.copytree(place, Path(folder, place.name)), expected)}", False
    except Exception as error:  # any library's
        message = " ".join(str(error).split()).replace("|", "\\|")
        return f"**failed**: {type(error).__name__}: {message[:300]}", True


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path)
    parser.add_argument("--make", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    if options.make:
        for name, (family, changed) in FAMILIES.items():
            make(options.models / name, family, changed)
        return 0
    print("| family | library | result |\n|---|---|---|")
    failures = 0
    for name, (packages, function) in CHECKS.items():
        try:
            library = f"{name} ({', '.join(f'{package} {version(package)}' for package in packages)})"
        except PackageNotFoundError as missing:
            print(f"| all | {name} | missing: {missing.name} |")
            continue
        for family in FAMILIES:
            result, failed = check(function, options.models / family)
            failures += failed
            print(f"| {family} | {library} | {result} |", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
