#!/usr/bin/env bash
# Bio-ELECTRA++ (Ozyurt 2020): 1.8 million further updates of Bio-ELECTRA on full papers of PubMed Central, in another
# 24 days on one GPU of 8 GB. FROM is the SAVE_DIR of bio_electra_small.sh, DATA_BIN is binarized with the same tokenizer:
#   CUDA_VISIBLE_DEVICES=0 python -m alibert_fairseq.launch recipes/pretrain/bio_electra_pp.sh
# The optimizer and the count of updates continue, the data start again. The repository sets num_train_steps 3600000, and
# Google's code cannot start from a checkpoint otherwise. So the learning rate jumps from 0 to half its peak, and falls.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/shared.bash"

options=(
    --task electra --criterion electra          # section 2.1: ELECTRA
    --sentence-pairs --segments 2               # section 2.1: ELECTRA's code: two segments per sample, without a label
    --arch electra_small                        # section 2.1: "a ELECTRA-Small model (14M trainable parameters)"
    --mask-prob 0.15                            # not in the paper; google-research/electra `configure_pretraining.py`
    --tokens-per-sample 256                     # the repository's pmc_config_v2.json.example
    --batch-size 64                             # the same file, on one GPU
    --optimizer alibert_adam                    # not in the paper; google-research/electra `optimization.py`, with
    --alibert-adam-betas 0.9,0.999 --alibert-adam-eps 1e-6 --weight-decay 0.01 --clip-norm 1.0
    --lr 5e-4 --lr-scheduler electra            # not in the paper; google-research/electra, which the repository leaves
    --warmup-updates 10000                      # the same; it ended after the first 10,000 updates of Bio-ELECTRA
    --total-num-update 3600000 --max-update 3600000  # section 2.1: "additional 1.8 million steps" to 1.8 million
    --seed 1                                    # not in the paper; any number serves
)
checkpoint=$(checkpoint_of "${FROM:-}" "the SAVE_DIR of bio_electra_small.sh")
compgen -G "${SAVE_DIR:-}/checkpoint*.pt" > /dev/null || options+=(--restore-file "$checkpoint" --reset-dataloader --reset-meters)
complete_options 60  # with --toy, 30 more than bio_electra_small.sh
fairseq-train "$DATA_BIN" --save-dir "$SAVE_DIR" "${options[@]}" "$@"
