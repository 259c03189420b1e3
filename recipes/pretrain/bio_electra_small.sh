#!/usr/bin/env bash
# Bio-ELECTRA (Ozyurt 2020): ELECTRA-Small on PubMed abstracts, 64 sequences of 256 tokens per update on one GPU of 8 GB
# (RTX 2070), where the paper trained for 24 days:
#   CUDA_VISIBLE_DEVICES=0 python -m alibert_fairseq.launch recipes/pretrain/bio_electra_small.sh
# Vocabulary (section 2.1: SentencePiece BPE; its size from the repository SciCrunch/bio_electra, which keeps capitals):
#   python -m preprocess.train_tokenizer --vocab-size 31620 --model bpe --cased
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/shared.bash"

options=(
    --task electra --criterion electra          # section 2.1: ELECTRA
    --sentence-pairs --segments 2               # section 2.1: ELECTRA's code: two segments per sample, without a label
    --arch electra_small                        # section 2.1: "a ELECTRA-Small model (14M trainable parameters)"
    --mask-prob 0.15                            # not in the paper; google-research/electra `configure_pretraining.py`
    --tokens-per-sample 256                     # section 2.1
    --batch-size 64                             # section 2.1, on one GPU
    --optimizer alibert_adam                    # not in the paper; google-research/electra `optimization.py`, with
    --alibert-adam-betas 0.9,0.999 --alibert-adam-eps 1e-6 --weight-decay 0.01 --clip-norm 1.0
    --lr 5e-4 --lr-scheduler electra            # not in the paper; google-research/electra, which the repository leaves
    --warmup-updates 10000                      # the same
    --total-num-update 1800000 --max-update 1800000  # section 2.1; its "four stages" are one schedule here
    --seed 1                                    # not in the paper; any number serves
)
complete_options
fairseq-train "$DATA_BIN" --save-dir "$SAVE_DIR" "${options[@]}" "$@"
