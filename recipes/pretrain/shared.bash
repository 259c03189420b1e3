# Functions that the recipes of this folder share. They source this file. A recipe is
#
#     set -euo pipefail
#     . "$(dirname "${BASH_SOURCE[0]}")/shared.bash"
#     options=(...)          # each number with its source
#     complete_options
#     fairseq-train "$DATA_BIN" --save-dir "$SAVE_DIR" "${options[@]}" "$@"
#
# and the last command is what the launcher needs (docs/howto/cluster.md). A recipe takes
#   DATA_BIN, SAVE_DIR   the data-bin and the folder of checkpoints, from the environment
#   --toy                a check that the recipe runs here: the same objective, optimizer and form of schedule, at sizes
#                        that train in a minute on one core on the data-bin of the shipped sample
#   any other argument   goes to fairseq-train after the recipe's own; of an option given twice the last one counts
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
toy='' own_arch='' cpu='' precision=--bf16-autocast
for argument in "$@"; do  # the launcher puts its own arguments first, so --toy can be anywhere
    shift
    case $argument in
        --fp16|--bf16) precision='' ;;  # for the whole model, as GPUs before the A100 need it
        --arch=*) own_arch=${argument#--arch=} ;;
        --cpu) cpu=yes ;;
    esac
    case ${before:-} in --arch|-a) own_arch=$argument ;; esac
    before=$argument
    if [ "$argument" = --toy ]; then toy=yes; else set -- "$@" "$argument"; fi
done

fairseq-train() { exec "$(type -P fairseq-train)" "$@"; }  # in place of this shell: a signal to it reaches the training
refuse() { echo "error: $1" >&2; exit 2; }

checkpoint_of() {  # PATH WHAT: print a checkpoint: PATH, or the last one of a --save-dir, or the only one of a folder
    local files=("$1"/*.pt)
    if [ -z "$1" ]; then refuse "FROM is not set; set it to $2."; fi
    if [ -f "$1" ]; then echo "$1"
    elif [ -f "$1/checkpoint_last.pt" ]; then echo "$1/checkpoint_last.pt"
    elif [ ${#files[@]} -eq 1 ] && [ -f "${files[0]}" ]; then echo "${files[0]}"
    else refuse "FROM=$1: neither a checkpoint nor a folder with checkpoint_last.pt or a single .pt; set it to $2."
    fi
}

start_from() {  # PATH WHAT: take its weights, and its sizes from a folder of hf.load; optimizer and schedule start again
    local checkpoint  # fairseq reads it only once: an interrupted run resumes from its own checkpoint
    checkpoint=$(checkpoint_of "$1" "$2")
    options+=(--finetune-from-model "$checkpoint")
    [ ! -f "$1/options" ] || options+=($(<"$1/options"))
}

complete_options() {  # [UPDATES of --toy]: add the options that do not depend on the paper, after those of the recipe
    local i arch='' recipe_size name rate=5e-3 updates=${1:-30}
    for name in DATA_BIN SAVE_DIR; do
        [ -n "${!name:-}" ] || refuse "$name is not set; DATA_BIN is the data-bin to read, SAVE_DIR where to write."
    done
    type -P fairseq-train >/dev/null || refuse "no fairseq-train on PATH; enter the environment (in a checkout: source recipes/environment.sh)."
    for i in "${!options[@]}"; do
        [ "${options[i]}" != --arch ] || arch=${options[i + 1]}
        [ "${options[i]}" != --finetune-from-model ] || rate=5e-4
    done
    recipe_size=${arch##*_}
    arch=${own_arch:-$arch}  # --budget chooses it
    [ -z "$toy" ] || arch=${arch%_*}_tiny
    options+=(
        --user-dir "$root/alibert_fairseq"
        --tokenizer alibert_normalizer --bpe alibert_subwords  # recorded in the checkpoint, for from_pretrained
        --no-epoch-checkpoints --log-format simple
    )
    case $arch in
        *_tiny)  # for a CPU: bfloat16 slows it down where it has no instructions for it
            options+=(--save-interval-updates 250 --keep-interval-updates 1 --validate-interval 10)
            options+=(--num-workers 0 --log-interval 25) ;;
        *)
            # a larger size of a recipe for CPUs: bfloat16 slows down a processor that has no instructions for it
            [ "$recipe_size" != tiny ] || { [ -z "$cpu" ] && [ -n "$(type -P nvidia-smi rocm-smi)" ]; } || precision=''
            options+=($precision --save-interval-updates 1000 --keep-interval-updates 2 --log-interval 100) ;;
    esac
    [ -z "$toy" ] || options+=(
        --arch "$arch" --tokens-per-sample 64 --batch-size 8 --update-freq 1  # 512 tokens per update
        --lr "$rate"  # so that the loss falls within these updates, with either optimizer; trained weights need a lower rate
        --warmup-updates 5 --total-num-update "$updates" --max-update "$updates" --log-interval 5 --max-valid-steps 10
    )
}
