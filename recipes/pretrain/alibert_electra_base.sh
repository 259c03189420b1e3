#!/usr/bin/env bash
# AliBERT-ELECTRA-base with Adam (Berhe et al. 2022, section 3.3.1, Figure 3), on the cluster of AliBERT: 48 GPUs (12
# nodes x 4), 960 sequences of 512 tokens per update:
#   python -m alibert_fairseq.launch recipes/pretrain/alibert_electra_base.sh --nodes 12 --gpus-per-node 4
# Vocabulary (section 5: 40K pieces, Unigram): python -m preprocess.train_tokenizer --vocab-size 40000
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/shared.bash"

options=(
    --task electra --criterion electra          # section 3.3.1: replaced token detection
    --arch electra_base                         # ELECTRA-base: the encoder of BERT-base, generator of 1/3
    --mask-prob 0.15                            # not in the paper; google-research/electra's, base
    --tokens-per-sample 512                     # section 5: 512 input tokens
    --batch-size 20                             # section 5: 20 per GPU; x 48 GPUs = 960
    --required-batch-size-multiple 4            # fairseq asks for multiples of 8, and would make 16 of 20
    --optimizer alibert_adam                    # section 3.3.1: "ADAM ... as used in BERT"; ELECTRA's is the same
    --alibert-adam-betas 0.9,0.999 --alibert-adam-eps 1e-6 --weight-decay 0.01 --clip-norm 1.0  # ELECTRA's code
    --lr 4e-4                                   # not in the paper; ELECTRA-base's 2e-4 at batch 256 by the square root
    --lr-scheduler electra                      # not in the paper; ELECTRA's
    --warmup-updates 10000                      # not in the paper; ELECTRA's
    --total-num-update 125000 --max-update 125000  # not in the paper; those of alibert_base.sh
    --seed 1                                    # not in the paper; any number serves
)
complete_options
fairseq-train "$DATA_BIN" --save-dir "$SAVE_DIR" "${options[@]}" "$@"
