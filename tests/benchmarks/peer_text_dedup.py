"""MinHash of text-dedup on a folder of JSON lines; run by text_peers.py with the Python of text-dedup's environment.

    python peer_text_dedup.py deduplicate INPUT OUTPUT OPTIONS

OPTIONS is JSON: {"workers": 2, "minhash": {...}}. Its cache stays below OUTPUT, so that nothing is read from there.
"""

import json
import os
import sys
from pathlib import Path


def main() -> None:
    """Run the algorithm; the kept documents go to OUTPUT/kept as JSON lines."""
    source, output, options = Path(sys.argv[2]), Path(sys.argv[3]), json.loads(sys.argv[4])
    output.mkdir(parents=True, exist_ok=True)
    os.environ["HF_HOME"] = str(output / "cache")  # before `datasets` is imported
    from datasets import load_from_disk
    from text_dedup.config.algorithms.minhash import MinHashAlgorithmConfig
    from text_dedup.config.base import Config, load_config_from_toml
    from text_dedup.minhash import main as deduplicate

    files = json.dumps(sorted(map(str, source.glob("*.jsonl"))))
    settings = "".join(f"{name} = {json.dumps(value)}\n" for name, value in options["minhash"].items())
    (output / "config.toml").write_text(
        f'[input]\ninput_type = "local_files"\nfile_type = "json"\n'
        f'read_arguments = {{path = "json", data_files = {files}, split = "train"}}\n'
        f'[algorithm]\nalgorithm_name = "minhash"\ntext_column = "text"\nnum_proc = {options["workers"]}\n{settings}'
        f'[output]\noutput_dir = "{output / "arrow"}"\n[debug]\n'
    )
    Config.model_rebuild(_types_namespace={"MinHashAlgorithmConfig": MinHashAlgorithmConfig})
    deduplicate(load_config_from_toml(output / "config.toml"))
    (output / "kept").mkdir()
    load_from_disk(str(output / "arrow")).select_columns(["id"]).to_json(output / "kept" / "ids.jsonl")
    print("{}")


if __name__ == "__main__":
    main()
