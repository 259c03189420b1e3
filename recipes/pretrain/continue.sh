#!/usr/bin/env bash
# Continual pretraining of a published encoder. FROM is the folder that alibert_fairseq.hf.load wrote, DATA_BIN a data-bin
# made with --tokenizer $FROM. The recipe reads the family in that folder, and takes its objective, rate and schedule. On
# two GPUs through Slurm, with absolute paths:
#   python -m alibert_fairseq.launch recipes/pretrain/continue.sh --executor slurm --gpus-per-node 2
# VARIANT=detour predicts the next token in most of the run, and masked ones at its end. VARIANT=detection trains a
# ModernBERT by replaced token detection; the published model is then also the generator, which does not change.
# docs/howto/continual_pretraining.md has all steps, and the reason of each number.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/shared.bash"

options=(
    --mask-prob 0.15                            # BERT, RoBERTa, ELECTRA-base
    --tokens-per-sample 512                     # the length of CamemBERT, BERT and ELECTRA
    --batch-size 16 --update-freq 8             # ours: on 2 GPUs 256 sequences per update, the fewest RoBERTa tried
    --clip-norm 1.0                             # BERT's code
    --lr 5e-5                                   # CamemBERT-bio; DeBERTaV3's authors continue with it, too
    --lr-scheduler polynomial_decay --warmup-updates 2500 --total-num-update 50000  # warm-up of 5 %: ours
    --max-update 50000                          # CamemBERT-bio (Touchent et al., arXiv 2306.15550): 39 hours on 2 GPUs
    --seed 1                                    # any number serves
)
adam=(--alibert-adam-betas 0.9,0.999 --alibert-adam-eps 1e-6 --weight-decay 0.01)  # BERT's code
# ModernCamemBERT-bio (Touchent and de la Clergerie, arXiv 2605.12438): a quarter of ModernBERT's rate, constant, then
# 1 - sqrt to a tenth of it over the last 9 % of the run. A CamemBERTv2 gained by its detour with the same numbers.
constant_adam=(--alibert-adam-betas 0.9,0.98 --alibert-adam-eps 1e-6 --weight-decay 1e-5)
constant=(
    --lr 2e-4
    --lr-scheduler wsd --warmup-updates 500 --decay-share 0.09 --decay-form sqrt --end-learning-rate 2e-5
)
start_from "${FROM:-}" "the folder that alibert_fairseq.hf.load wrote"
[ -f "$FROM/options" ] || refuse "FROM=$FROM: holds no file 'options'; set it to the folder that hf.load wrote, or copy that file from there."
case " ${options[*]} " in *" --arch electra"*) objective=electra ;; *) objective=alibert_mlm ;; esac
case " ${options[*]} " in *" --arch alibert_modern_"*) modern=yes ;; *) modern='' ;; esac
case ${VARIANT:-} in
    '')
        [ -z "$modern" ] || options+=("${constant[@]}" --mask-prob 0.3 --mask-prob-end 0.15)  # theirs fall in one step
        [ -z "$modern" ] || adam=("${constant_adam[@]}") ;;
    detour)
        [ $objective = alibert_mlm ] || refuse "VARIANT=detour: $FROM has a generator, and the detour is for one model."
        options+=("${constant[@]}" --causal-until 0.91) adam=("${constant_adam[@]}") ;;
    detection)
        [ -n "$modern" ] || refuse "VARIANT=detection is for a ModernBERT, and $FROM is none; leave it out."
        objective=electra adam=("${constant_adam[@]}")
        options+=(  # docs/results/modern_detection.md
            "${constant[@]}" --mask-prob 0.3 --arch electra_modern_base --electra-leave-unmasked-prob 0
            --freeze-generator --embedding-sharing none --generator-temperature 2 --generator-temperature-end 1
            --discriminator-weight 10
        ) ;;
    *) refuse "VARIANT=$VARIANT is not detour or detection; leave it out for the objective of the model." ;;
esac
case " $* " in
    *" --optimizer"[\ =]*) ;;  # of the caller, with its own options
    *) options+=(--optimizer alibert_adam "${adam[@]}") ;;
esac
options+=(--task "$objective" --criterion "$objective")
complete_options
fairseq-train "$DATA_BIN" --save-dir "$SAVE_DIR" "${options[@]}" "$@"
