#!/usr/bin/env bash
# A checkpoint to a Hugging Face model and an NER score, as one job on a GPU:
#   bash recipes/slurm/evaluate.sh CHECKPOINT TOKENIZER RECIPE ANNOTATIONS OUTPUT
#   CENTRE     the file that knows your centre                           default: centre.bash in this folder
# OUTPUT is a folder of its own that all nodes see: model/, ner/ with metrics.json, and the job's log. Stopped, the same
# command does what is left.
#   bash recipes/slurm/evaluate.sh $WORK/alibert/checkpoint_best.pt tokenizer recipes/finetune/quaero_emea.yaml quaero $WORK/emea
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
die() { echo "error: $*" >&2; exit 2; }
[ $# -eq 5 ] || die "give CHECKPOINT TOKENIZER RECIPE ANNOTATIONS OUTPUT."
for path in "${@:1:4}"; do [ -e "$path" ] || die "$path: no such file or directory; check the path."; done
source "$here/../environment.sh"
source "${CENTRE:-$here/centre.bash}"
mkdir -p "$5"
paths=()
for path in "$@"; do paths+=("$(realpath "$path")"); done
quoted=$(printf '%q ' "${paths[@]}")

sbatch --job-name=evaluate --output="${paths[4]}/%j.log" "${one_gpu[@]}" <<END
#!/bin/bash
set -euo pipefail
export PATH=$(printf %q "$PATH")
set -- $quoted
[ -d "\$5/model" ] || python -m alibert_fairseq.hf.export --checkpoint "\$1" --tokenizer "\$2" --output "\$5/model"
[ -f "\$5/ner/metrics.json" ] || python -m downstream.finetune "\$3" --data "\$4" --model "\$5/model" --output "\$5/ner"
END
