#!/usr/bin/env bash
# AliBERT-base with Adam (Berhe et al. 2022): 960 sequences of 512 tokens per update on 48 GPUs (12 nodes x 4), where the
# paper trained for 20 hours; the time of these 125,000 updates was not measured. On the paper's cluster:
#   python -m alibert_fairseq.launch recipes/pretrain/alibert_base.sh --nodes 12 --gpus-per-node 4
# Vocabulary (section 5: 40K pieces, Unigram): python -m preprocess.train_tokenizer --vocab-size 40000
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/shared.bash"

options=(
    --task alibert_mlm --criterion alibert_mlm  # section 3.3.1: masked language modelling
    --arch alibert_base                         # section 3.3.1: BERT-base
    --mask-prob 0.15                            # section 3.3.1: "15 % of the words are hidden"; drawn as tokens, as in
                                                # BERT and section 1 ("some of the tokens"); --mask-unit word: words
    --tokens-per-sample 512                     # section 5: 512 input tokens
    --batch-size 20                             # section 5: 20 per GPU; x 48 GPUs = 960
    --required-batch-size-multiple 4            # fairseq asks for multiples of 8, and would make 16 of 20
    --optimizer alibert_adam                    # section 3.3.1: "ADAM ... as used in BERT"
    --alibert-adam-betas 0.9,0.999 --alibert-adam-eps 1e-6 --weight-decay 0.01 --clip-norm 1.0  # BERT's code
    --lr 4e-4                                   # not in the paper; BERT's 1e-4 at batch 256, near-linear to 960
    --lr-scheduler bert                         # not in the paper; BERT's, whose optimizer it is
    --warmup-updates 10000                      # not in the paper; BERT's
    --total-num-update 125000 --max-update 125000  # not in the paper; ours: half the sequences of BERT's 1M x 256
    --seed 1                                    # not in the paper; any number serves
)
complete_options
fairseq-train "$DATA_BIN" --save-dir "$SAVE_DIR" "${options[@]}" "$@"
