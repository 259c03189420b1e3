#!/usr/bin/env bash
# ouBioBERT (Wada et al. 2020, section 4.1), second phase: from the first, 32,768 sequences of 512 tokens per update "to
# learn positional embeddings". FROM is the SAVE_DIR of oubiobert_phase1.sh. On the paper's two GPUs:
#   python -m alibert_fairseq.launch recipes/pretrain/oubiobert_phase2.sh --gpus-per-node 2
# 16 sequences per GPU x 2 GPUs x 1,024; on G GPUs give -- --update-freq $((2048 / G)).
# Optimizer and schedule start again. NVIDIA's code also restarts schedule and bias correction, but keeps the moments.
# Corpus and vocabulary: those of the first phase.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/shared.bash"

options=(
    --task segment_pairs --criterion segment_pairs --sentence-objective nsp  # section 2.1.1
    --arch segment_bert_base                    # section 2: "essentially ... the same structures as that of BERT-Base"
    --mask-prob 0.15                            # section 2.1.1: 15 %
    --leave-unmasked-prob 0.1 --random-token-prob 0.1  # section 2.1.1: of them 80 % masked, 10 % random, 10 % the same
    --tokens-per-sample 512                     # section 4.1
    --batch-size 16 --update-freq 1024          # section 4.1: 32,768 on two GPUs
    --optimizer lamb                            # section 4.1: NVIDIA's implementation, apex FusedLAMB
    --lamb-betas 0.9,0.999 --lamb-eps 1e-6 --weight-decay 0.01 --lamb-max-grad-norm 1.0  # its defaults, NVIDIA's decay
    --lr 4e-3                                   # section 4.1
    --lr-scheduler nvidia --power 0.5           # "we followed the NVIDIA implementation": its `schedulers.py`
    --warmup-updates 200                        # NVIDIA `pretrain_config.sh`: 0.128 of the updates
    --total-num-update 1563 --max-update 1563   # section 4.1
    --seed 1                                    # not in the paper; any number serves
)
start_from "${FROM:-}" "the SAVE_DIR of oubiobert_phase1.sh"
complete_options
fairseq-train "$DATA_BIN" --save-dir "$SAVE_DIR" "${options[@]}" "$@"
