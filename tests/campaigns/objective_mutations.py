"""Plant the mistakes that public reimplementations of these objectives have made: docs/results/objective_mutations.md.

python tests/campaigns/objective_mutations.py [WORD]      # only the rows whose first column holds WORD
"""

import sys

from mutations import Mutation, try_all

PARITY = "tests/parity/test_losses_transformers.py"
ELECTRA = f"{PARITY}::test_replaced_token_detection_is_electras"
PAIRS = f"{PARITY}::test_words_and_sentences_together_are_berts_and_alberts"
WORDS = f"{PARITY}::test_masked_language_modelling_is_robertas"

MUTATIONS = [
    Mutation(
        "argmax in the place of a sample", "alibert_fairseq/models/electra.py",
        "sample_tokens(scores, uniforms[masked], self.cfg.generator_temperature)", "scores.argmax(-1)",
        "tests/unit/test_electra.py::test_the_model_samples_and_does_not_take_the_likeliest",
    ),
    Mutation(
        "temperature forgotten", "alibert_fairseq/models/sampling.py", "scores.detach().float() / temperature",
        "scores.detach().float()", "tests/unit/test_electra.py::test_samples_follow_the_softmax_at_the_temperature",
    ),
    Mutation(
        "labels against the masked input", "alibert_fairseq/models/electra.py", "fake.ne(original))",
        "fake.ne(src_tokens))",
        "tests/unit/test_electra.py::test_only_drawn_positions_change_and_labels_mark_true_replacements",
    ),
    Mutation(
        "labels of all drawn positions, right guesses too", "alibert_fairseq/models/electra.py",
        "fake.ne(original))", "masked)",
        "tests/unit/test_electra.py::test_a_generator_that_is_right_leaves_nothing_replaced",
    ),
    Mutation(
        "inverted labels, 1 for original", "alibert_fairseq/models/electra.py", "fake.ne(original))",
        "fake.eq(original))", ELECTRA,
    ),
    Mutation(
        "samples scattered nowhere: the discriminator reads masks", "alibert_fairseq/models/electra.py",
        "self.discriminator.sentence_encoder(fake,", "self.discriminator.sentence_encoder(src_tokens,",
        "tests/unit/test_electra.py::test_only_drawn_positions_change_and_labels_mark_true_replacements",
    ),
    Mutation(
        "only masked positions filled, visible ones not", "alibert_fairseq/models/electra.py",
        "fake[masked] = sample_tokens(scores, uniforms[masked], self.cfg.generator_temperature)",
        "fake[masked] = sample_tokens(scores, uniforms[masked], self.cfg.generator_temperature)\n"
        "            fake = fake.where(src_tokens.ne(original), original)",
        "tests/unit/test_electra.py::test_every_drawn_position_is_filled_also_the_visible_ones",
    ),
    Mutation(
        "discriminator's loss over padding", "alibert_fairseq/criterions/electra.py",
        'real = inputs["original"].ne(self.padding_idx)', 'real = inputs["original"].ge(0)', ELECTRA,
    ),
    Mutation(
        "discriminator's loss over drawn positions only", "alibert_fairseq/criterions/electra.py",
        'real = inputs["original"].ne(self.padding_idx)', 'real = inputs["masked"]', ELECTRA,
    ),
    Mutation(
        "weight 50 with a sum in the place of a mean", "alibert_fairseq/criterions/electra.py",
        'binary_cross_entropy_with_logits(detection, labels, reduction="mean")',
        'binary_cross_entropy_with_logits(detection, labels, reduction="sum")', ELECTRA,
    ),
    Mutation(
        "only the word table shared", "alibert_fairseq/models/encoder.py", "for name in EMBEDDINGS:",
        'for name in ("embed_positions", "embed_segments", "layernorm_embedding"):\n'
        "                pass\n            self._new_embeddings(size)\n"
        '            for name in ("embed_tokens",):',
        ELECTRA,
    ),
    Mutation(
        "LayerNorm of the embeddings not shared", "alibert_fairseq/models/encoder.py", "for name in EMBEDDINGS:",
        "self._new_embeddings(size)\n            for name in EMBEDDINGS[:3]:", ELECTRA,
    ),
    Mutation(
        "the discriminator's gradient in the generator's table", "alibert_fairseq/models/embedding_sharing.py",
        "self._base[0].weight.detach()", "self._base[0].weight", ELECTRA,
    ),
    Mutation(
        "generator's depth scaled", "alibert_fairseq/models/electra.py",
        "layers=cfg.generator_layers or discriminator.layers",
        "layers=cfg.generator_layers or round(discriminator.layers * cfg.generator_width_fraction)",
        "tests/unit/test_electra.py::test_widths_shrink_and_depth_does_not",
    ),
    Mutation(
        "generator frozen by no_grad over its pass", "alibert_fairseq/models/electra.py",
        "scores = self.generator.lm_head(features[masked])",
        "scores = self.generator.lm_head(features[masked].detach())", ELECTRA,
    ),
    Mutation(
        "sampling in half precision", "alibert_fairseq/models/sampling.py", "scores.detach().float() / temperature",
        "scores.detach().half() / temperature",
        "tests/unit/test_electra.py::test_samples_over_many_groups_are_those_of_one_cumulative_sum",
    ),
    Mutation(
        "epsilon of LayerNorm 1e-5", "alibert_fairseq/models/config.py", "default=1e-12,", "default=1e-5,",
        "tests/unit/test_initialisation.py::test_the_defaults_are_berts",
    ),
    Mutation(
        "tanh GELU in BERT and ELECTRA", "alibert_fairseq/models/encoder.py", '"gelu": F.gelu',
        '"gelu": partial(F.gelu, approximate="tanh")', f"{WORDS} {ELECTRA}",
    ),
    Mutation(
        "GELU by the error function in ALBERT", "alibert_fairseq/models/encoder.py",
        '"gelu_tanh": partial(F.gelu, approximate="tanh")', '"gelu_tanh": F.gelu', PAIRS,
    ),
    Mutation(
        "padding attended to", "alibert_fairseq/models/encoder.py",
        "may_attend = real[:, None, None, :] if has_padding else None", "may_attend = None", WORDS,
    ),
    Mutation(
        "segments ignored", "alibert_fairseq/models/encoder.py",
        "torch.zeros_like(tokens) if segments is None else segments", "torch.zeros_like(tokens)", PAIRS,
    ),
    Mutation(
        "ALBERT's layers not shared", "alibert_fairseq/models/encoder.py",
        "return layer * self.groups // self.layers", "return min(layer, self.groups - 1) if layer else 0",
        PAIRS,
    ),
    Mutation(
        "sentence loss summed", "alibert_fairseq/criterions/segment_pairs.py", "* sentence_loss / pairs.clamp(min=1)",
        "* sentence_loss", PAIRS,
    ),
    Mutation(
        "unlabelled pairs in the sentence loss's mean", "alibert_fairseq/criterions/segment_pairs.py",
        "pairs = labelled.sum()", "pairs = torch.tensor(len(labels))", PAIRS,
    ),
    Mutation(
        "sentence head on the second token", "alibert_fairseq/models/heads.py", "features[:, 0]", "features[:, 1]",
        PAIRS,
    ),
]  # fmt: skip


if __name__ == "__main__":
    sys.exit(try_all(MUTATIONS, "mistake", "planted in", sys.argv[1:]))
