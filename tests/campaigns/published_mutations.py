"""Plant the mistakes that conversions of published encoders have made: docs/results/continue_published.md.

python tests/campaigns/published_mutations.py [WORD]      # only the rows whose first column holds WORD
"""

import sys

from mutations import Mutation, try_all

DEBERTA = "tests/parity/test_deberta_transformers.py"
MLM = f"{DEBERTA}::test_masked_language_modelling"
RTD = f"{DEBERTA}::test_replaced_token_detection"
ROWS = f"{DEBERTA}::test_every_distance_has_the_row_of_transformers"
CONFIG = f"{DEBERTA}::test_the_configuration_says_the_same_in_both_directions"
MODERN = "tests/parity/test_modern_transformers.py"
LAYOUTS = "tests/end_to_end/test_load_layouts.py"
FRENCH = f"{LAYOUTS}::test_the_layouts_of_french_models"
LOAD = "tests/end_to_end/test_load.py"
RELATIVE, ENCODER = "alibert_fairseq/layers/relative.py", "alibert_fairseq/models/encoder.py"
BLOCKS = "alibert_fairseq/models/blocks.py"
NAMES, PARTS = "alibert_fairseq/hf/families/names.py", "alibert_fairseq/hf/families/deberta.py"

MUTATIONS = [
    Mutation("relative: the sign of the bucket", RELATIVE, "(steps * distances.sign())", "(-steps * distances.sign())", ROWS),
    Mutation(
        "relative: the key's place less the query's", RELATIVE, "torch.arange(longest - 1, -longest, -1,",
        "torch.arange(1 - longest, longest, 1,", ROWS,
    ),
    Mutation("relative: buckets by the floor", RELATIVE, "torch.ceil(", "torch.floor(", ROWS),
    Mutation("relative: one bucket fewer", RELATIVE, "half = relative.buckets // 2", "half = relative.buckets // 2 - 1", ROWS),
    Mutation("relative: scale of contents alone", RELATIVE, "(1 + sum(part is not None for part in self)) ** -0.5", "1.0", MLM),
    Mutation(
        "relative: position to content not transposed", RELATIVE, "skewed(products(k, positions.queries), rows).mT",
        "skewed(products(k, positions.queries), rows)", MLM,
    ),
    Mutation("relative: the gradient of distances lost", RELATIVE, "to_part.add_(torch.bmm(", "to_part.sub_(torch.bmm(", MLM),
    Mutation(
        "relative: frozen distances give tokens no gradient", "alibert_fairseq/layers/pieces.py",
        "if any(part is not None for part in positions):", "if any(ctx.needs_input_grad[2:4]):",
        "tests/alibert_fairseq/layers/test_attention.py::test_the_gradient_of_tokens_is_the_same_with_frozen_distances",
    ),
    Mutation(
        "tokenizer: sentencepiece's ids are not compared", "alibert_fairseq/hf/published/tokenizer.py",
        "            self._check_sentencepiece()", "            pass",
        f"{LAYOUTS}::test_a_class_that_forgets_the_rules_of_its_sentencepiece_model_is_refused",
    ),
    Mutation(
        "relative: shared projections not shared", BLOCKS, 'getattr(self, "pos_k_proj", self.k_proj)',
        'getattr(self, "pos_k_proj", self.v_proj)', MLM,
    ),
    Mutation(
        "relative: distances without their LayerNorm", ENCODER,
        "self.relative_layer_norm(self.embed_relative.weight[first : last + 1])",
        "self.embed_relative.weight[first : last + 1] + 0 * self.relative_layer_norm(self.embed_relative.weight).sum()", MLM,
    ),
    Mutation(
        "relative: the query's distances in the key's order", BLOCKS, "table.of_distances.flip(0)", "table.of_distances",
        MLM,
    ),
    Mutation(
        "relative: absolute positions left out", "alibert_fairseq/models/size.py",
        "(self.relative is None or self.relative.absolute)", "self.relative is None", MLM,
    ),
    Mutation(
        "relative: a narrow embedding projected behind its LayerNorm", ENCODER,
        "return self.dropout(self.layernorm_embedding(self.embed_project(x)))",
        "return self.dropout(self.embed_project(self.layernorm_embedding(nn.functional.pad(x, (0, 16)))[:, :16]))", MLM,
    ),
    Mutation(
        "convolution: behind every layer", ENCODER, 'if layer == 0 and hasattr(self, "convolution")',
        'if hasattr(self, "convolution")', MLM,
    ),
    Mutation(
        "convolution: of the layer, not of the embeddings", ENCODER, "self.convolution(embedded, x, view)",
        "self.convolution(x, x, view)", MLM,
    ),
    Mutation(
        "convolution: sequences of a row read each other", BLOCKS,
        "rows = with_padding(embedded, view.sight.keys).transpose(1, 2)",
        "rows = embedded.T[None]\n        return self.layer_norm(x + self.activation(self.conv(rows)[0].T))", MLM,
    ),
    Mutation(
        "detection: the head without the first token", "alibert_fairseq/models/heads.py",
        "features = self.layer_norm(features + first)", "features = self.layer_norm(features + 0 * first)", RTD,
    ),
    Mutation(
        "detection: the difference of tables with the wrong sign", "alibert_fairseq/models/electra.py",
        "state_dict.pop(table) - state_dict[base]", "state_dict[base] - state_dict.pop(table)",
        f"{LOAD}::test_the_difference_of_two_tables_is_learned",
    ),
    Mutation(
        "configuration: keys that are shared said not to be", PARTS, "config.share_att_key = relative.shared",
        "config.share_att_key = not relative.shared", CONFIG,
    ),
    Mutation(
        "configuration: buckets lost", PARTS, "config.position_buckets = relative.buckets or -1", "config.position_buckets = -1",
        CONFIG,
    ),
    Mutation(
        "configuration: rotary bases swapped", "alibert_fairseq/hf/families/modern.py",
        '("global_rope_theta", "global_theta"), ("local_rope_theta", "local_theta")',
        '("global_rope_theta", "local_theta"), ("local_rope_theta", "global_theta")', FRENCH,
    ),
    Mutation(
        "modern: halves of GeGLU exchanged", BLOCKS, "inner, gate = self.fc1(", "gate, inner = self.fc1(", MODERN,
    ),
    Mutation(
        "modern: a local window of one token more", "alibert_fairseq/layers/sight.py", "window // 2", "window // 2 + 1", MODERN,
    ),
    Mutation(
        "names: keys and queries of a DeBERTa exchanged", NAMES, '"query": "query_proj", "key": "key_proj"',
        '"query": "key_proj", "key": "query_proj"', f"{LAYOUTS}::test_microsofts_deberta",
    ),
    Mutation(
        "names: the decoder's bias lost", NAMES, '        Row(f"{part}.lm_head.bias", "decoder.bias"),\n', "",
        f"{LOAD}::test_back_again_the_folder_has_the_same_tensors_and_ids",
    ),
    Mutation(
        "words: two tables become one", "alibert_fairseq/models/heads.py", "word_table if size.tied else", "word_table if True else",
        f"{LAYOUTS}::test_two_tables_of_words",
    ),
    Mutation(
        "positions: copies begin at the row of padding", "alibert_fairseq/models/pretraining.py", "padding_idx + 1", "padding_idx",
        "tests/alibert_fairseq/models/test_models.py::test_new_positions_are_copies_where_it_is_asked_for",
    ),
    Mutation(
        "tokenizer: special ids shifted", "alibert_fairseq/hf/published/tokenizer.py", "vocabulary[token] for role, token",
        "vocabulary[token] + 1 for role, token", FRENCH,
    ),
    Mutation(
        "tokenizer: bytes for unknown characters dropped", "alibert_fairseq/hf/published/tokenizer.py",
        "tokenizer.to_str(pretty=True)", 'tokenizer.to_str(pretty=True).replace(\'"byte_fallback": true\', \'"byte_fallback": false\')',
        FRENCH,
    ),
    Mutation(
        "tokenizer: long words unknown in what is written", "alibert_fairseq/hf/published/tokenizer.py",
        'rules["model"][LIMIT] = longest', "pass",
        f"{LAYOUTS}::test_words_of_more_than_sixteen_characters",
    ),
    Mutation(
        "detour: masked first, causal at the end", "alibert_fairseq/data/curriculum.py", "progress < self.causal_until",
        "progress >= self.causal_until > 0", "tests/alibert_fairseq/data/test_curriculum.py",
    ),
    Mutation(
        "detour: the rate falls linearly", "alibert_fairseq/optim/schedules.py", "1 - math.sqrt(1 - left)", "left",
        "tests/alibert_fairseq/optim/test_schedules.py::test_wsd_falls_by_the_root_of_its_progress",
    ),
    Mutation(
        "head: another one each time", "alibert_fairseq/hf/published/model.py", "torch.manual_seed(SEED)", "torch.seed()",
        f"{LAYOUTS}::test_an_encoder_without_a_head",
    ),
]  # fmt: skip


if __name__ == "__main__":
    sys.exit(try_all(MUTATIONS, "mistake", "planted in", sys.argv[1:]))
