#!/usr/bin/env bash
# Masked language modelling goes on from a published encoder (of ELECTRA: replaced token detection). $FROM is what
# alibert_fairseq.hf.load wrote. Reads the data-bin $DATA_BIN, made with --tokenizer $FROM; checkpoints go to $SAVE_DIR:
#   FROM=camembert DATA_BIN=data-bin SAVE_DIR=checkpoints bash recipes/pretrain/continue.sh
# Through Slurm, with the three exported as whole paths, on two GPUs:
#   python -m alibert_fairseq.launch recipes/pretrain/continue.sh --nodes 1 --gpus-per-node 2
# Run again, it goes on from its own last checkpoint. docs/objectives/continual_pretraining.md has the whole way.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

read -r -a model < "$FROM/options"
task=alibert_mlm
[[ ${model[1]} == electra* ]] && task=electra

# CamemBERT-bio's numbers (Touchent et al., arXiv 2306.15550): 39 hours on 2 GPUs made CamemBERT biomedical.
# The other published way, BERT (W + BC / sP) of Wada et al. 2020, section 4.1: LAMB at 1e-4, 25,000 updates of 2,048
# sequences of 128 tokens. For it copy this recipe: --alibert-adam-betas belong to this one.
options=(
    --task "$task" --criterion "$task"
    --mask-prob 0.15                            # BERT, RoBERTa, ELECTRA-base
    --tokens-per-sample 512                     # the length of CamemBERT, BERT and ELECTRA
    --batch-size 16 --update-freq 8             # ours: on 2 GPUs 256 sequences an update, the fewest RoBERTa tried
    --optimizer alibert_adam
    --alibert-adam-betas 0.9,0.999 --alibert-adam-eps 1e-6 --weight-decay 0.01 --clip-norm 1.0  # BERT's code
    --lr 5e-5                                   # CamemBERT-bio; a first pretraining has ten times as much
    --lr-scheduler polynomial_decay --warmup-updates 2500 --total-num-update 50000  # warm-up of 5 %: ours
    --max-update 50000                          # CamemBERT-bio
    --seed 1
)
fairseq-train "$DATA_BIN" --save-dir "$SAVE_DIR" --user-dir "$root/alibert_fairseq" \
    --finetune-from-model "$FROM/checkpoint.pt" "${model[@]}" "${options[@]}" \
    --tokenizer alibert_normalizer --bpe alibert_subwords --bf16-autocast \
    --save-interval-updates 1000 --keep-interval-updates 2 --no-epoch-checkpoints \
    --log-format simple --log-interval 100 "$@"
