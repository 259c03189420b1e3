"""The figures of an audit, from the results of its steps, as audit.json has them."""

from dataclasses import asdict
from datetime import date
from typing import Any

import numpy as np

from alibert_common import __version__
from alibert_common.files import read_json, sha256_of
from alibert_fairseq.audit.exposure import CANDIDATES, CHANCE
from alibert_fairseq.audit.extraction import by_frequency
from alibert_fairseq.audit.measures import Measure, Subject
from alibert_fairseq.audit.membership import SHARE, attack
from alibert_fairseq.audit.rates import LEVEL, RESAMPLES, Rate
from alibert_fairseq.audit.vocabulary import piece_figures
from preprocess.databin.predictable import PROOF

EXAMPLES = 12  # of names among the subwords


def figures_of(measure: Measure) -> dict[str, Any]:
    """All figures but the cost."""
    subject = measure.subject
    return {
        "model": _model(subject),
        "data": _data(subject),
        "exposure": _exposure(measure),
        "membership": _membership(measure),
        "extraction": _extraction(measure),
        "tokenizer": _tokenizer(measure),
        "settings": {
            "seed": subject.seed, "documents": len(subject.texts), "maskings": subject.maskings, "share_masked": SHARE,
            "level": LEVEL, "resamples": RESAMPLES, "version": __version__, "date": date.today().isoformat(),
        },
    }  # fmt: skip


def cost_of(measure: Measure, seconds: float) -> dict[str, float]:
    """What the audit took, without the reference, beside what the training took."""
    trained = measure.subject.run.seconds
    return {"seconds": round(seconds, 1), "training_seconds": trained, "share": round(seconds / max(1, trained), 4)}


def _model(subject: Subject) -> dict[str, Any]:
    cfg, checkpoint = subject.run.cfg, subject.checkpoints["audited"]
    return {
        "task": cfg.task._name, "arch": cfg.model._name, "updates": len(subject.run.kept),
        "epochs": subject.run.kept[-1].epoch, "tokens": subject.run.tokens,
        "checkpoint": str(checkpoint), "sha256": sha256_of(checkpoint), "seed": cfg.common.seed,
    }  # fmt: skip


def _data(subject: Subject) -> dict[str, Any]:
    file, data = subject.data_bin / PROOF, subject.data
    return {
        "documents": data.documents(), "patients": data.patients(), "documents_without_patient": data.unnamed,
        "sources": data.sources, "canaries": len(subject.probes),
        "anonymity": read_json(file)["counts"] if file.is_file() else None,
    }  # fmt: skip


def _exposure(measure: Measure) -> dict[str, Any] | None:
    probes, checkpoints = measure.subject.probes, measure.subject.run.checkpoints
    if not probes:
        return None
    copies = np.array([probe.canary.copies for probe in probes])
    bits = {updates: np.array(measure.result("exposure", updates)) for updates in checkpoints}
    generator, last = np.random.default_rng((measure.subject.seed, 6)), bits[max(bits)]
    of_copies = [
        {
            "copies": int(number),
            **asdict(_mean(last[copies == number], generator)),
            "canaries": int((copies == number).sum()),
        }
        for number in np.unique(copies)
    ]
    along = {
        updates: {int(number): float(values[copies == number].mean()) for number in np.unique(copies)}
        for updates, values in bits.items()
    }
    each = [
        {"id": probe.canary.id, "kind": probe.canary.kind, "copies": probe.canary.copies, "bits": float(value)}
        for probe, value in zip(probes, last, strict=True)
    ]
    return {
        "candidates": CANDIDATES + 1, "most": float(np.log2(CANDIDATES + 1)), "chance": float(CHANCE),
        "by_copies": of_copies, "along": along, "each": each,
    }  # fmt: skip


def _mean(values: np.ndarray, generator: np.random.Generator) -> Rate:
    """The mean with its interval by the bootstrap over canaries."""
    drawn = values[generator.integers(len(values), size=(RESAMPLES, len(values)))].mean(1)
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Rate(float(values.mean()), float(low), float(high))


def _membership(measure: Measure) -> dict[str, Any]:
    texts, seed = measure.subject.texts, measure.subject.seed
    members = np.array([text.member for text in texts])
    patients = np.array([text.patient for text in texts], np.uint64)
    found = attack(measure.losses("audited"), measure.losses("reference"), members, patients, seed)
    return {name: asdict(one) for name, one in found.items()}


def _extraction(measure: Measure) -> list[dict[str, Any]]:
    patients = {int(word): count for word, count in measure.result("words")}
    hits = [np.array(measure.result("filled", model), bool) for model in ("audited", "reference")]
    return [found._asdict() | {name: asdict(getattr(found, name)) for name in ("audited", "reference")}
            for found in by_frequency(measure.subject.cases, patients, *hits)]  # fmt: skip


def _tokenizer(measure: Measure) -> dict[str, Any]:
    found = asdict(piece_figures(measure.subject.vocabulary, np.array(measure.result("pieces"))))
    return found | {"name_count": len(found["names"]), "names": found["names"][:EXAMPLES]}
