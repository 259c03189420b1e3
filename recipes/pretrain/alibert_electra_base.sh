#!/usr/bin/env bash
# AliBERT-ELECTRA-base with Adam, on the cluster of AliBERT: 48 GPUs (12 nodes x 4), 960 sequences of 512 tokens an update.
# Reads the data-bin $DATA_BIN, writes checkpoints to $SAVE_DIR. On the paper's cluster:
#   python -m alibert_fairseq.launch recipes/pretrain/alibert_electra_base.sh --nodes 12 --gpus-per-node 4
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

options=(
    --task electra --criterion electra          # section 3.3.1: replaced token detection
    --arch electra_base                         # ELECTRA-base: the encoder of BERT-base, generator of 1/3
    --mask-prob 0.15                            # google-research/electra, base
    --tokens-per-sample 512                     # section 5: 512 input tokens
    --batch-size 20                             # section 5: 20 a GPU; x 48 GPUs = 960
    --required-batch-size-multiple 4            # fairseq asks for multiples of 8, and would make 16 of 20
    --optimizer alibert_adam                    # section 3.3.1: "ADAM as used in BERT"
    --alibert-adam-betas 0.9,0.999 --alibert-adam-eps 1e-6 --weight-decay 0.01 --clip-norm 1.0  # BERT's code
    --lr 4e-4                                   # not in the paper; ELECTRA-base has 2e-4 at batch 256
    --lr-scheduler polynomial_decay --warmup-updates 10000 --total-num-update 125000  # not in the paper; ours
    --max-update 125000
    --seed 1                                    # not in the paper
)
fairseq-train "$DATA_BIN" --save-dir "$SAVE_DIR" --user-dir "$root/alibert_fairseq" "${options[@]}" \
    --tokenizer alibert_normalizer --bpe alibert_subwords --bf16-autocast \
    --save-interval-updates 1000 --keep-interval-updates 2 --no-epoch-checkpoints \
    --log-format simple --log-interval 100 "$@"
