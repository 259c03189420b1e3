#!/usr/bin/env bash
# AliBERT-base with LAMB (Berhe et al. 2022, section 3.3.1, Figure 4): the model, data and batch of alibert_base.sh. The
# paper says that it trained much faster than Adam, without a number. On the paper's cluster:
#   python -m alibert_fairseq.launch recipes/pretrain/alibert_base_lamb.sh --nodes 12 --gpus-per-node 4
# Vocabulary (section 5: 40K pieces, Unigram): python -m preprocess.train_tokenizer --vocab-size 40000
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/shared.bash"

options=(
    --task alibert_mlm --criterion alibert_mlm  # section 3.3.1: masked language modelling
    --arch alibert_base                         # section 3.3.1: BERT-base
    --mask-prob 0.15                            # section 3.3.1: "15 % of the words are hidden"; see alibert_base.sh
    --tokens-per-sample 512                     # section 5: 512 input tokens
    --batch-size 20                             # section 5: 20 per GPU; x 48 GPUs = 960
    --required-batch-size-multiple 4            # fairseq asks for multiples of 8, and would make 16 of 20
    --optimizer lamb                            # section 3.3.1, after You et al.: their algorithm 2 divides the moments
    --lamb-betas 0.9,0.999 --lamb-eps 1e-6 --weight-decay 0.01 --lamb-max-grad-norm 1.0  # apex FusedLAMB's, NVIDIA's
    --lr 8.5e-4                                 # not in the paper; ALBERT's 1.76e-3 at batch 4,096 by the square root
                                                # of the batch, as You et al. scale LAMB's rate
    --lr-scheduler bert                         # not in the paper; ALBERT's, which LAMB trained
    --warmup-updates 3125                       # not in the paper; ALBERT's of its 125,000
    --total-num-update 125000 --max-update 125000  # not in the paper; those of alibert_base.sh, to compare
    --seed 1                                    # not in the paper; any number serves
)
complete_options
fairseq-train "$DATA_BIN" --save-dir "$SAVE_DIR" "${options[@]}" "$@"
