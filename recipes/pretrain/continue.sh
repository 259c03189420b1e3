#!/usr/bin/env bash
# Continual pretraining of a published encoder: masked language modelling, or replaced token detection for ELECTRA. FROM is
# the folder that alibert_fairseq.hf.load wrote, DATA_BIN a data-bin made with --tokenizer $FROM. On two GPUs through
# Slurm, with absolute paths:
#   python -m alibert_fairseq.launch recipes/pretrain/continue.sh --nodes 1 --gpus-per-node 2
# docs/howto/continual_pretraining.md has all steps.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/shared.bash"

# CamemBERT-bio's numbers (Touchent et al., arXiv 2306.15550): 39 hours on 2 GPUs made CamemBERT biomedical.
# The other published method, BERT (W + BC / sP) of Wada et al. 2020: oubiobert_continual.sh.
options=(
    --mask-prob 0.15                            # BERT, RoBERTa, ELECTRA-base
    --tokens-per-sample 512                     # the length of CamemBERT, BERT and ELECTRA
    --batch-size 16 --update-freq 8             # ours: on 2 GPUs 256 sequences per update, the fewest RoBERTa tried
    --optimizer alibert_adam
    --alibert-adam-betas 0.9,0.999 --alibert-adam-eps 1e-6 --weight-decay 0.01 --clip-norm 1.0  # BERT's code
    --lr 5e-5                                   # CamemBERT-bio; a first pretraining has ten times as much
    --lr-scheduler polynomial_decay --warmup-updates 2500 --total-num-update 50000  # warm-up of 5 %: ours
    --max-update 50000                          # CamemBERT-bio
    --seed 1                                    # any number serves
)
start_from "${FROM:-}" "the folder that alibert_fairseq.hf.load wrote"
[ -f "$FROM/options" ] || refuse "FROM=$FROM: holds no options of a model; set it to the folder that hf.load wrote."
case " ${options[*]} " in *" --arch electra"*) objective=electra ;; *) objective=alibert_mlm ;; esac
options+=(--task "$objective" --criterion "$objective")
complete_options
fairseq-train "$DATA_BIN" --save-dir "$SAVE_DIR" "${options[@]}" "$@"
