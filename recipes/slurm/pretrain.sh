#!/usr/bin/env bash
# Pretrain on Slurm, on the login node:  bash recipes/slurm/pretrain.sh RECIPE NODES [options of launch] [-- of fairseq-train]
#   DATA_BIN   the data-bin; it is copied to scratch and read from there
#   SAVE_DIR   the folder of checkpoints and metrics.jsonl, on a file system that all nodes see
#   CENTRE     the file with the settings of your centre                 default: centre.bash in this folder
# The same command resumes a run that has ended. After a preemption, a time limit or a dead node it resumes by itself.
#   DATA_BIN=data-bin SAVE_DIR=$WORK/alibert bash recipes/slurm/pretrain.sh recipes/pretrain/alibert_base.sh 12
#   ... --dry-run   shows the job, tokens per update, memory and time, and reserves nothing
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
die() { echo "error: $*" >&2; exit 2; }
[ $# -ge 2 ] || die "give a recipe and the number of nodes: bash recipes/slurm/pretrain.sh RECIPE NODES [options]."
for name in DATA_BIN SAVE_DIR; do
    [ -n "${!name:-}" ] || die "$name is not set; DATA_BIN is the data-bin to read, SAVE_DIR where to write."
done
IFS=: read -ra bins <<<"$DATA_BIN"  # fairseq takes several, separated by colons
for bin in "${bins[@]}"; do
    [ -f "$bin/dict.txt" ] ||
        die "$bin: no dict.txt; DATA_BIN is a data-bin of preprocess.binarize, or several: data-bin/1:data-bin/2."
done
centre=${CENTRE:-$here/centre.bash}
[ -f "$centre" ] || die "CENTRE=$centre: no such file; copy $here/centre.bash and name the copy."
source "$here/../environment.sh"
source "$(realpath "$centre")"
recipe=$1 nodes=$2
shift 2

# The data-bin is read from scratch. The name of the copy depends on the files, their sizes and times, so a new data-bin
# gets a new copy. A copy gets its name when it is complete, so an interrupted one is made again.
copy_of() {  # DATA_BIN: print the path of its copy
    local made copy
    made=$(cd "$1" && find -L . -type f -printf '%P %s %T@\n' | LC_ALL=C sort | sha256sum | cut -c1-12)
    copy=$scratch/data-bins/$(basename "$(cd "$1" && pwd)")-$made
    if [ ! -d "$copy" ]; then
        mkdir -p "$scratch/data-bins"
        echo "copying $1 ($(du -shL "$1" | cut -f1)) to $copy" >&2
        rm -rf "$copy.partial"
        cp -rL "$1" "$copy.partial" || die "$scratch/data-bins: the data-bin does not fit; make room."
        mv -T "$copy.partial" "$copy"
    fi
    echo "$copy"
}
copies=()
for bin in "${bins[@]}"; do
    case " $* " in
        *" --dry-run "*) copies+=("$(cd "$bin" && pwd)") ;;
        *) copies+=("$(copy_of "$bin")") ;;
    esac
done
mkdir -p "$SAVE_DIR"
export DATA_BIN=$(IFS=:; echo "${copies[*]}") SAVE_DIR=$(cd "$SAVE_DIR" && pwd)
exec python -m alibert_fairseq.launch "$recipe" --nodes "$nodes" "${reservation[@]}" --requeue --detach \
    --logs "$work/launch" "$@"
