"""One step of datatrove on a folder of JSON lines; run by text_peers.py with the Python of datatrove's environment.

    python peer_datatrove.py STEP INPUT OUTPUT OPTIONS

STEP is `read` (reader and writer), `filter` (Gopher's and C4's quality filters too) or `deduplicate` (the four stages
of MinHash). OPTIONS is JSON: {"workers": 2, "minhash": {...}}. There are as many tasks as workers, except for the
buckets of MinHash, which need a task each. INPUT has a file for each task. The language is French.
"""

import json
import sys
import time
from pathlib import Path

from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.dedup import MinhashDedupBuckets, MinhashDedupCluster, MinhashDedupFilter, MinhashDedupSignature
from datatrove.pipeline.dedup.minhash import MinhashConfig
from datatrove.pipeline.filters import C4QualityFilter, GopherQualityFilter
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter
from datatrove.utils.typeshelper import Languages

STOP_WORDS = ["le", "la", "de", "et", "les", "des", "du", "en"]  # eight frequent ones, as the filter has in English


def run(pipeline: list, tasks: int, workers: int) -> float:
    """Seconds of a pipeline on this machine."""
    began = time.perf_counter()
    LocalPipelineExecutor(pipeline, tasks=tasks, workers=workers).run()
    return time.perf_counter() - began


def main() -> None:
    """Run the step; print the seconds of its stages as JSON."""
    step, source, output, options = sys.argv[1], sys.argv[2], Path(sys.argv[3]), json.loads(sys.argv[4])
    workers, language = options["workers"], Languages.french
    read = JsonlReader(source, glob_pattern="*.jsonl")
    write = JsonlWriter(str(output / "kept"), compression=None)
    if step == "read":
        seconds = {"read": run([read, write], workers, workers)}
    elif step == "filter":
        quality = GopherQualityFilter(language=language, stop_words=STOP_WORDS)
        seconds = {"filter": run([read, quality, C4QualityFilter(language=language), write], workers, workers)}
    else:
        config = MinhashConfig(**options["minhash"])
        signatures, buckets, removed = (str(output / name) for name in ("signatures", "buckets", "removed"))
        sign = MinhashDedupSignature(signatures, config, language)
        find = MinhashDedupBuckets(signatures, buckets, config=config)
        seconds = {
            "signatures": run([read, sign], workers, workers),
            "buckets": run([find], config.num_buckets, workers),
            "cluster": run([MinhashDedupCluster(buckets, removed, config)], 1, 1),
            "filter": run([read, MinhashDedupFilter(removed), write], workers, workers),
        }
    print(json.dumps(seconds))


if __name__ == "__main__":
    main()
