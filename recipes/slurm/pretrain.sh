#!/usr/bin/env bash
# Pretrain on Slurm, on the login node:  bash recipes/slurm/pretrain.sh RECIPE NODES [options of launch] [-- of fairseq-train]
#   DATA_BIN   the data-bin; copied to scratch, where it is read from
#   SAVE_DIR   where checkpoints and metrics.jsonl go, on a file system that all nodes see
#   CENTRE     the file that knows your centre                           default: centre.bash in this folder
# The same command goes on with a run that has ended; a preemption, a time limit or a dead node needs none.
#   DATA_BIN=data-bin SAVE_DIR=$WORK/alibert bash recipes/slurm/pretrain.sh recipes/pretrain/alibert_base.sh 12
#   ... --dry-run   shows the job, tokens an update, memory and time, and reserves nothing
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
die() { echo "error: $*" >&2; exit 2; }
[ $# -ge 2 ] || die "give a recipe and the number of nodes: bash recipes/slurm/pretrain.sh RECIPE NODES [options]."
for name in DATA_BIN SAVE_DIR; do
    [ -n "${!name:-}" ] || die "$name is not set; DATA_BIN is the data-bin to read, SAVE_DIR where to write."
done
[ -f "$DATA_BIN/dict.txt" ] || die "$DATA_BIN: no dict.txt; DATA_BIN is what preprocess.binarize wrote."
source "$here/../environment.sh"
source "${CENTRE:-$here/centre.bash}"
recipe=$1 nodes=$2
shift 2

# Read from scratch. The name tells the files, their sizes and times: a data-bin made anew is another copy. It gets its
# name when it is whole, so a copy that was interrupted is made again.
made=$(cd "$DATA_BIN" && find -L . -type f -printf '%P %s %T@\n' | LC_ALL=C sort | sha256sum | cut -c1-12)
copy=$scratch/data-bins/$(basename "$(cd "$DATA_BIN" && pwd)")-$made
if [ ! -d "$copy" ]; then
    mkdir -p "$scratch/data-bins"
    echo "copying $DATA_BIN ($(du -shL "$DATA_BIN" | cut -f1)) to $copy"
    rm -rf "$copy.partial"
    cp -rL "$DATA_BIN" "$copy.partial" || die "$scratch/data-bins: the data-bin does not fit; make room."
    mv -T "$copy.partial" "$copy"
fi
mkdir -p "$SAVE_DIR"
export DATA_BIN=$copy SAVE_DIR=$(cd "$SAVE_DIR" && pwd)
exec python -m alibert_fairseq.launch "$recipe" --nodes "$nodes" "${reservation[@]}" --requeue --detach \
    --logs "$work/launch" "$@"
