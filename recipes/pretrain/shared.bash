# What the recipes of this folder share: sourced by them, not run. A recipe is
#
#     set -euo pipefail
#     . "$(dirname "${BASH_SOURCE[0]}")/shared.bash"
#     options=(...)          # each number with its source
#     complete_options
#     fairseq-train "$DATA_BIN" --save-dir "$SAVE_DIR" "${options[@]}" "$@"
#
# and the last command is as the launcher asks for it (docs/howto/cluster.md). A recipe takes
#   DATA_BIN, SAVE_DIR   the data-bin it reads, the folder of its checkpoints, from the environment
#   --toy                same objective, optimizer and form of schedule at sizes that train in a minute on one core on
#                        the shipped sample's data-bin: does it run here at all?
#   any other argument   goes to fairseq-train behind the recipe's own; of an option given twice the last one counts
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
toy='' precision=--bf16-autocast
for argument in "$@"; do  # the launcher puts its own arguments first: --toy may stand anywhere
    shift
    case $argument in --fp16|--bf16) precision='' ;; esac  # of the whole model, as GPUs before the A100 need it
    if [ "$argument" = --toy ]; then toy=yes; else set -- "$@" "$argument"; fi
done

fairseq-train() { exec "$(type -P fairseq-train)" "$@"; }  # in place of this shell: a signal to it reaches the training
refuse() { echo "error: $1" >&2; exit 2; }

checkpoint_of() {  # PATH WHAT: a checkpoint, or the last one of a --save-dir, or the only one of a folder
    local found=("$1"/*.pt)
    if [ -z "$1" ]; then refuse "FROM is not set; set it to $2."; fi
    if [ -f "$1" ]; then echo "$1"
    elif [ -f "$1/checkpoint_last.pt" ]; then echo "$1/checkpoint_last.pt"
    elif [ ${#found[@]} -eq 1 ] && [ -f "${found[0]}" ]; then echo "${found[0]}"
    else refuse "FROM=$1: neither a checkpoint nor a folder with checkpoint_last.pt or a single .pt; set it to $2."
    fi
}

start_from() {  # PATH WHAT: its weights, of a folder of hf.load its sizes too; optimizer and schedule begin anew.
    local checkpoint  # fairseq looks at it once: an interrupted run goes on from its own
    checkpoint=$(checkpoint_of "$1" "$2")
    options+=(--finetune-from-model "$checkpoint")
    [ ! -f "$1/options" ] || options+=($(<"$1/options"))
}

complete_options() {  # [UPDATES of --toy]: what does not depend on the paper, behind what the recipe chose
    local i arch='' name rate=5e-3 updates=${1:-30}
    for name in DATA_BIN SAVE_DIR; do
        [ -n "${!name:-}" ] || refuse "$name is not set; DATA_BIN is the data-bin to read, SAVE_DIR where to write."
    done
    type -P fairseq-train >/dev/null || refuse "no fairseq-train on PATH; enter the environment (in a checkout: source recipes/environment.sh)."
    for i in "${!options[@]}"; do
        [ "${options[i]}" != --arch ] || arch=${options[i + 1]}
        [ "${options[i]}" != --finetune-from-model ] || rate=5e-4
    done
    [ -z "$toy" ] || arch=${arch%_*}_tiny
    options+=(
        --user-dir "$root/alibert_fairseq"
        --tokenizer alibert_normalizer --bpe alibert_subwords  # recorded in the checkpoint, for from_pretrained
        --no-epoch-checkpoints --log-format simple
    )
    case $arch in
        *_tiny)  # on a CPU, which bfloat16 slows down where it has no instructions for it
            options+=(--save-interval-updates 250 --keep-interval-updates 1 --validate-interval 10)
            options+=(--num-workers 0 --log-interval 25) ;;
        *)
            options+=($precision --save-interval-updates 1000 --keep-interval-updates 2 --log-interval 100) ;;
    esac
    [ -z "$toy" ] || options+=(
        --arch "$arch" --tokens-per-sample 64 --batch-size 8 --update-freq 1  # 512 tokens an update
        --lr "$rate"  # so that the loss falls within them, with either optimizer; trained weights bear less
        --warmup-updates 5 --total-num-update "$updates" --max-update "$updates" --log-interval 5 --max-valid-steps 10
    )
}
