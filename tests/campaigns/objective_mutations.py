"""Plant the mistakes that public reimplementations of these objectives have made: docs/results/objective_mutations.md.

python tests/campaigns/objective_mutations.py [WORD]      # only the rows whose first column holds WORD
"""

import sys

from mutations import Mutation, try_all

PARITY = "tests/parity/test_losses_transformers.py"
ELECTRA = f"{PARITY}::test_replaced_token_detection_is_electras"
PAIRS = f"{PARITY}::test_words_and_sentences_together_are_berts_and_alberts"
MODERN = "tests/parity/test_modern_transformers.py"
ELECTRA_MODERN = "tests/alibert_fairseq/models/test_electra_modern.py"
MUON = "tests/alibert_fairseq/optim/test_muon.py"
LAYOUT = "tests/alibert_fairseq/data/test_layout.py"
ATTENTION = "tests/alibert_fairseq/layers/test_attention.py"
DROPOUT = "tests/alibert_fairseq/layers/test_dropout.py"
WORD_LOSS = "tests/alibert_fairseq/layers/test_word_loss.py"
PENDING = "tests/alibert_fairseq/callbacks/test_pending_logs.py"
PRECISION = "tests/end_to_end/test_precision.py::test_a_run_keeps_the_precision_that_a_measurement_chose"
TAGGER = "tests/downstream/learners/test_tagger.py"
BI_ENCODER = "tests/downstream/learners/test_bi_encoder.py"
LABELS = "tests/downstream/learners/test_label_attention.py"
WORDS = f"{PARITY}::test_masked_language_modelling_is_robertas"

MUTATIONS = [
    Mutation(
        "argmax in the place of a sample", "alibert_fairseq/layers/word_loss.py",
        "draw(part.float(), samples.uniforms[rows])", "part.argmax(-1)",
        "tests/alibert_fairseq/models/test_electra.py::test_the_model_samples_and_does_not_take_the_likeliest",
    ),
    Mutation(
        "temperature forgotten", "alibert_fairseq/layers/word_loss.py", "(part / samples.temperature).exp_()",
        "part.exp()", f"{WORD_LOSS}::test_samples_are_those_of_the_softmax_and_change_no_loss",
    ),
    Mutation(
        "temperature not handed to the generator's samples", "alibert_fairseq/models/electra.py",
        "Samples(uniforms, self.cfg.generator_temperature)", "Samples(uniforms, 1.0)", "tests/alibert_fairseq/models/test_electra.py",
    ),
    Mutation(
        "labels against the masked input", "alibert_fairseq/models/electra.py", "fake.ne(original), predictable)",
        "fake.ne(batch.flat(src_tokens)), predictable)", "tests/alibert_fairseq/models/test_electra.py::test_a_generator_that_is_right_leaves_nothing_replaced",
    ),
    Mutation(
        "labels of all drawn positions, right guesses too", "alibert_fairseq/models/electra.py",
        "fake.ne(original), predictable)", "fake.ne(fake).index_fill(0, batch.masked, True), predictable)",
        "tests/alibert_fairseq/models/test_electra.py::test_a_generator_that_is_right_leaves_nothing_replaced",
    ),
    Mutation(
        "inverted labels, 1 for original", "alibert_fairseq/models/electra.py", "fake.ne(original), predictable)",
        "fake.eq(original), predictable)", ELECTRA,
    ),
    Mutation(
        "samples scattered nowhere: the discriminator reads masks", "alibert_fairseq/models/electra.py",
        "self.discriminator.sentence_encoder(fake,", "self.discriminator.sentence_encoder(batch.flat(src_tokens),",
        "tests/alibert_fairseq/models/test_electra.py::test_only_drawn_positions_change_and_labels_mark_true_replacements",
    ),
    Mutation(
        "only masked positions filled, visible ones not", "alibert_fairseq/models/electra.py",
        "fake = original.index_copy(0, batch.masked, words.samples)",
        "fake = original.index_copy(0, batch.masked, words.samples)\n"
        "            fake = fake.where(batch.flat(src_tokens).ne(original), original)",
        "tests/alibert_fairseq/models/test_electra.py::test_every_drawn_position_is_filled_also_the_visible_ones",
    ),
    Mutation(
        "padding counts in the mean of the discriminator's loss", "alibert_fairseq/criterions/electra.py",
        "(masked / tokens)", '(masked / sample["net_input"]["src_tokens"].numel())', ELECTRA,
    ),
    Mutation(
        "discriminator's loss over drawn positions only", "alibert_fairseq/criterions/electra.py",
        "(of_each if output.judged is None else of_each * output.judged).sum()",
        'of_each[sample["net_input"]["layout"]["masked"]].mean() * len(of_each)', ELECTRA,
    ),
    Mutation(
        "weight 50 with a sum in the place of a mean", "alibert_fairseq/criterions/electra.py",
        "found * (masked / tokens)", "found * masked", ELECTRA,
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
        "self.base.weight.detach()", "self.base.weight", ELECTRA,
    ),
    Mutation(
        "generator's depth scaled", "alibert_fairseq/models/electra.py",
        "layers=cfg.generator_layers or max(1, round(discriminator.layers * depth)),",
        "layers=cfg.generator_layers or max(1, round(discriminator.layers * cfg.generator_width_fraction)),",
        "tests/alibert_fairseq/models/test_electra.py::test_widths_shrink_and_depth_does_not",
    ),
    Mutation(
        "generator frozen by no_grad over its pass", "alibert_fairseq/models/electra.py",
        "self.generator.lm_head.predict(features,", "self.generator.lm_head.predict(features.detach(),", ELECTRA,
    ),
    Mutation(
        "sampling in half precision", "alibert_fairseq/layers/word_loss.py", "draw(part.float(),",
        "draw(part.bfloat16().float(),", f"{WORD_LOSS}::test_samples_of_many_words_are_those_of_float32",
    ),
    Mutation(
        "probabilities summed in float32 before sampling", "alibert_fairseq/layers/sampling.py",
        "masses.cumsum(dim=-1, dtype=torch.float64)", "masses.cumsum(dim=-1).double()",
        "tests/alibert_fairseq/models/test_electra.py::test_unlikely_ids_behind_a_likely_one_are_sampled_as_often_as_they_are_likely",
    ),
    Mutation(
        "softmax and samples in bfloat16 under --bf16", "alibert_fairseq/layers/word_loss.py",
        "wide = torch.promote_types(scores.dtype, torch.float32)", "wide = scores.dtype", WORD_LOSS,
    ),
    Mutation(
        "the exported epsilon of LayerNorm dropped", "alibert_fairseq/hf/families/part.py",
        '    ("layer_norm_eps", "layer_norm_eps"),\n', "",
        "tests/alibert_fairseq/hf/test_families.py::test_a_configuration_holds_every_field_of_the_size",
    ),
    Mutation(
        "epsilon of LayerNorm 1e-5", "alibert_fairseq/models/config.py", "option(1e-12,", "option(1e-5,",
        "tests/alibert_fairseq/models/test_initialisation.py::test_the_defaults_are_berts",
    ),
    Mutation(
        "tanh GELU in BERT and ELECTRA", "alibert_fairseq/models/size.py", '"gelu": F.gelu',
        '"gelu": partial(F.gelu, approximate="tanh")', f"{WORDS} {ELECTRA}",
    ),
    Mutation(
        "GELU by the error function in ALBERT", "alibert_fairseq/models/size.py",
        '"gelu_tanh": partial(F.gelu, approximate="tanh")', '"gelu_tanh": F.gelu', PAIRS,
    ),
    Mutation(
        "padding attended to", "alibert_fairseq/data/layout.py", 'real, masked = inputs["src_tokens"].ne(pad),',
        'real, masked = inputs["src_tokens"].ge(0),', WORDS,
    ),
    Mutation(
        "padding attended to, where the rows are padded again", "alibert_fairseq/layers/attention.py",
        "mask = real[:, None, None, :]", "mask = torch.ones_like(real)[:, None, None, :]", ATTENTION,
    ),
    Mutation(
        "segments ignored", "alibert_fairseq/models/encoder.py",
        "torch.zeros_like(tokens) if segments is None else segments", "torch.zeros_like(tokens)", PAIRS,
    ),
    Mutation(
        "ALBERT's layers not shared", "alibert_fairseq/models/size.py",
        "return self.layers if self.layer_groups is None else self.layer_groups", "return self.layers", PAIRS,
    ),
    Mutation(
        "sentence loss summed", "alibert_fairseq/criterions/segment_pairs.py", "* sentence_loss / pairs.clamp(min=1)",
        "* sentence_loss", PAIRS,
    ),
    Mutation(
        "unlabelled pairs in the sentence loss's mean", "alibert_fairseq/criterions/segment_pairs.py",
        "pairs = labelled.sum()", "pairs = labels.new_tensor(len(labels))", PAIRS,
    ),
    Mutation(
        "a micro-batch without a labelled pair divided by zero", "alibert_fairseq/criterions/segment_pairs.py",
        "/ pairs.clamp(min=1)", "/ pairs",
        "tests/alibert_fairseq/criterions/test_reduction.py::test_a_micro_batch_without_a_labelled_pair_has_the_loss_of_its_tokens",
    ),
    Mutation(
        "sentence head on the second token", "alibert_fairseq/models/bert.py", "batch.tokens.ends[:-1])",
        "batch.tokens.ends[:-1] + 1)", PAIRS,
    ),
    Mutation(
        "sentence head on the first masked token, the only ones that the last layer computes",
        "alibert_fairseq/models/bert.py",
        "only_masked=not with_sentences)\n"
        "            if not with_sentences:\n"
        "                return MaskedLMOutput(self.encoder.lm_head.predict(features, target, z_loss), None)\n"
        "            words = self.encoder.lm_head.predict(features.index_select(0, batch.masked), target, z_loss)\n"
        "            return MaskedLMOutput(words, self.encoder.sentence_head(features.index_select(0, batch.tokens.ends[:-1])))",
        "only_masked=True)\n"
        "            words = self.encoder.lm_head.predict(features, target, z_loss)\n"
        "            if not with_sentences:\n"
        "                return MaskedLMOutput(words, None)\n"
        "            return MaskedLMOutput(words, self.encoder.sentence_head(features[batch.of_masked.ends[:-1].long()]))",
        PAIRS,
    ),
    Mutation(
        "special tokens drawn", "alibert_fairseq/data/masked_dataset.py",
        "        self.maskable[special_ids(dictionary)] = False\n", "",
        "tests/alibert_fairseq/data/test_data.py::test_special_tokens_are_spared_wherever_a_dictionary_has_them",
    ),
    Mutation(
        "positions drawn with replacement", "alibert_fairseq/data/masking.py", "replace=False", "replace=True",
        "tests/alibert_fairseq/data/test_masking.py::test_exactly_the_share_is_drawn_each_position_once",
    ),
    Mutation(
        "BERT's 80/10/10 in ELECTRA", "alibert_fairseq/tasks/electra.py", "random_share=0.0)", "random_share=0.1)",
        "tests/alibert_fairseq/tasks/test_tasks.py::test_the_fates_are_those_of_the_papers",
    ),
    Mutation(
        "tokens without a mask in the masked language model's loss", "alibert_fairseq/data/layout.py",
        'batch["target"].ne(pad)', 'inputs["src_tokens"].ne(pad)', WORDS,
    ),
    Mutation(
        "drawn positions found where a token was changed", "alibert_fairseq/data/layout.py",
        'batch["target"].ne(pad)', 'batch["target"].ne(pad) & batch["target"].ne(inputs["src_tokens"])', f"{WORDS} {ELECTRA}",
    ),
    Mutation(
        "the same masks every epoch", "alibert_fairseq/data/masked_dataset.py",
        "0 if self.fixed_masks else self.epoch", "0",
        "tests/alibert_fairseq/data/test_data.py::test_draws_change_with_the_epoch_but_not_for_validation",
    ),
    Mutation(
        "the same sampling numbers every epoch", "alibert_fairseq/data/masked_dataset.py",
        "= generator.random(len(masked.positions))", "= generator_for(self.seed, 0, int(index)).random(len(masked.positions))",
        "tests/alibert_fairseq/data/test_data.py::test_uniforms_change_with_the_epoch_but_not_for_validation",
    ),
    Mutation(
        "random pieces that are special tokens", "alibert_fairseq/data/dictionary.py",
        "others = {*special_ids(dictionary), dictionary.unk()}", "others = set()",
        "tests/alibert_fairseq/data/test_word_starts.py::test_special_tokens_are_found_wherever_they_stand",
    ),
    Mutation(
        "a letter with an accent starts a word", "preprocess/tokenizer/word_starts.py",
        "marked = np.array([symbol.startswith(mark) for symbol",
        "marked = np.array([symbol.startswith(mark) or not symbol.isascii() for symbol",
        "tests/alibert_fairseq/data/test_word_starts.py::test_the_marks_decide_whatever_the_letters",
    ),
    Mutation(
        "pairs across documents", "alibert_fairseq/data/pairing.py",
        "        end = lines.end_of(first, last, target)",
        "        end = lines.end_of(first, int(lines.documents[-1, 1]), target)",
        "tests/alibert_fairseq/data/test_segment_pairs.py::test_every_pair_is_what_its_label_says",
    ),
    Mutation(
        "swapped segments labelled as in order", "alibert_fairseq/data/pairing.py",
        "yield cut, end, first, cut, OTHERWISE", "yield cut, end, first, cut, FOLLOWS",
        "tests/alibert_fairseq/data/test_segment_pairs.py::test_every_pair_is_what_its_label_says",
    ),
    Mutation(
        "lines that a random segment replaced are lost", "alibert_fairseq/data/pairing.py",
        "OTHERWISE\n            end = cut\n", "OTHERWISE\n",
        "tests/alibert_fairseq/data/test_segment_pairs.py::test_every_line_is_used_once_a_pass_and_every_token_accounted_for",
    ),
    Mutation(
        "random documents in sentence order prediction", "alibert_fairseq/tasks/segment_pairs.py",
        '"sop": "unlabelled"', '"sop": "random"',
        "tests/alibert_fairseq/tasks/test_tasks.py::test_single_lines_are_bert_s_in_nsp_and_without_a_label_in_sop",
    ),
    Mutation(
        "clipped by LAMB and by fairseq", "alibert_fairseq/optim/lamb.py",
        "(cfg.lamb_max_grad_norm or None) if cfg.clip_norm <= 0 else None", "cfg.lamb_max_grad_norm or None",
        "tests/alibert_fairseq/optim/test_optim.py::test_one_clip_acts_and_the_log_says_which",
    ),
    Mutation(
        "decay on LayerNorms and biases", "alibert_fairseq/optim/adam_lamb_step.py", '"weight_decay": 0.0, "adapt": False',
        '"weight_decay": weight_decay, "adapt": False',
        "tests/alibert_fairseq/optim/test_optim.py::test_vectors_neither_decay_nor_adapt",
    ),
    Mutation(
        "trust ratio on LayerNorms and biases", "alibert_fairseq/optim/adam_lamb_step.py",
        '"weight_decay": 0.0, "adapt": False', '"weight_decay": 0.0, "adapt": adapt',
        "tests/alibert_fairseq/optim/test_optim.py::test_vectors_neither_decay_nor_adapt",
    ),
    Mutation(
        "decay left out of the trust ratio", "alibert_fairseq/optim/adam_lamb_step.py",
        "self._adam(group, [step.copy_(p)], [g], [first], [second], 1.0)\n"
        "            norms.append(torch.stack([p.norm(), step.sub_(p).norm()]))\n",
        'self._adam(group | {"weight_decay": 0.0}, [step.copy_(p)], [g], [first], [second], 1.0)\n'
        "            norms.append(torch.stack([p.norm(), step.sub_(p).norm()]))\n"
        '            p.mul_(1 - group["lr"] * group["weight_decay"])\n',
        "tests/alibert_fairseq/optim/test_optim.py::test_three_steps_equal_the_vectors tests/parity/test_optimizers.py",
    ),
    Mutation(
        "epsilon added before the second moment is corrected", "alibert_fairseq/optim/adam_lamb_step.py",
        'eps=group["eps"],\n', 'eps=group["eps"] / (1 - beta2**count) ** 0.5,\n', "tests/parity/test_optimizers.py",
    ),
    Mutation(
        "bias of the moments not corrected", "alibert_fairseq/optim/adam_lamb_step.py",
        'float(group["step"]) if self.bias_correction else math.inf', "math.inf", "tests/parity/test_optimizers.py",
    ),
    Mutation(
        "trust ratio of a tensor of zeros", "alibert_fairseq/optim/adam_lamb_step.py",
        "torch.where((weights > 0) & (step > 0), weights / step, torch.ones_like(weights))", "weights / step",
        "tests/alibert_fairseq/optim/test_optim.py::test_a_tensor_of_zeros_moves_with_ratio_one_and_a_step_of_zero_moves_nothing",
    ),
    Mutation(
        "decay counted from the end of the warm-up, as fairseq does", "alibert_fairseq/optim/schedules.py",
        "max(1 - t / self.end, 0)",
        "max(1 - (t - self.cfg.warmup_updates) / (self.end - self.cfg.warmup_updates), 0)",
        "tests/alibert_fairseq/optim/test_schedules.py::test_every_schedule_is_its_formula",
    ),
    Mutation(
        "modern: heads turned the other way round", "alibert_fairseq/layers/rotary.py",
        "sin = sin.chunk(2, -1)[0]", "sin = -sin.chunk(2, -1)[0]", MODERN,
    ),
    Mutation(
        "modern: the wavelengths of global layers in local ones", "alibert_fairseq/layers/rotary.py",
        "theta**powers", "700.0**powers", MODERN,
    ),
    Mutation(
        "modern: a local window of one token less", "alibert_fairseq/layers/sight.py",
        "behind.abs() <= half", "behind.abs() < half", MODERN,
    ),
    Mutation(
        "modern: a window of one token less where PyTorch takes it as two numbers", "alibert_fairseq/layers/sight.py",
        "else (mask, (half, half))", "else (mask, (half - 1, half))", ATTENTION,
    ),
    Mutation(
        "modern: the gradient is turned on, not back", "alibert_fairseq/layers/rotary.py",
        "_turned(grad, cos, -sin)", "_turned(grad, cos, sin)", MODERN,
    ),
    Mutation(
        "modern: every second layer global, not every third", "alibert_fairseq/layers/rotary.py",
        "return layer % self.global_every == 0", "return layer % 2 == 0", MODERN,
    ),
    Mutation(
        "modern: packed sequences see each other", "alibert_fairseq/data/layout.py",
        "begins[:, 1:] = sequences[:, 1:] != sequences[:, :-1]", "pass", f"{MODERN}::test_packed_sequences",
    ),
    Mutation(
        "the places of packed sequences counted on", "alibert_fairseq/models/encoder.py",
        "self.embed(tokens, layout.tokens.ranks, segments)",
        "self.embed(tokens, (torch.arange(len(tokens)) if layout.real is None else layout.real) % layout.shape[1], segments)",
        "tests/alibert_fairseq/data/test_packed.py",
    ),
    Mutation(
        "modern: the activation on the gate", "alibert_fairseq/models/blocks.py",
        "self.activation(inner) * gate", "self.activation(gate) * inner", MODERN,
    ),
    Mutation(
        "modern: no norm at the end", "alibert_fairseq/models/encoder.py",
        "return self.layer_norm(x)", "return x", MODERN,
    ),
    Mutation(
        "muon: no momentum of Nesterov", "alibert_fairseq/optim/muon_step.py",
        "directions = torch._foreach_lerp(grads, averages, momentum)", "directions = averages", MUON,
    ),
    Mutation(
        "muon: tall matrices move as far as square ones", "alibert_fairseq/optim/muon_step.py",
        "max(1, rows / columns) ** 0.5", "1", MUON,
    ),
    Mutation(
        "muon: decay of the moved weight", "alibert_fairseq/optim/muon_step.py",
        'torch._foreach_mul_(params, 1 - group["lr"] * group["weight_decay"])', "pass", MUON,
    ),
    Mutation(
        "muon: four steps of Newton and Schulz", "alibert_fairseq/optim/muon_step.py", "ITERATIONS = 5",
        "ITERATIONS = 4", MUON,
    ),
    Mutation(
        "muon: all matrices of a shape scaled by one norm", "alibert_fairseq/optim/muon_step.py",
        "x.norm(dim=(1, 2), keepdim=True)", "x.norm()", MUON,
    ),
    Mutation(
        "muon: every matrix a hidden one, embeddings too", "alibert_fairseq/optim/marks.py",
        "return bool(found and found[2])", "return bool(found) and parameter.ndim == 2", MUON,
    ),
    Mutation(
        "muon: Adam's rate for the matrices", "alibert_fairseq/optim/muon.py",
        '"lr_share": cfg.muon_lr / cfg.lr[0]', '"lr_share": 1.0', MUON,
    ),
    Mutation(
        "muon: the momentum is not resumed", "alibert_fairseq/optim/muon_step.py",
        'averages = self._moments(params, "exp_avg")', "averages = [torch.zeros_like(p) for p in params]", MUON,
    ),
    Mutation(
        "wsd: the decay takes the whole run", "alibert_fairseq/optim/schedules.py",
        "max(0, 1 - t / self.end) / self.cfg.decay_share", "max(0, 1 - t / self.end)",
        "tests/alibert_fairseq/optim/test_schedules.py",
    ),
    Mutation(
        "a falling masking rate keeps what it should drop", "alibert_fairseq/data/curriculum.py",
        '(batch["thinning"] >= share)', '(batch["thinning"] < share)', "tests/alibert_fairseq/data/test_curriculum.py",
    ),
    Mutation(
        "layout: the last sequence of a row goes on in the next row", "alibert_fairseq/data/layout.py",
        "begins[:, 0] = True", "begins[0, 0] = True", "tests/alibert_fairseq/data/test_packed.py",
    ),
    Mutation(
        "layout: sequences told apart by numbers that begin anew in each row", "alibert_fairseq/data/layout.py",
        "numbers = (begins.flatten().cumsum(0) - 1)[slice(None) if places is None else places]",
        "numbers = (begins.flatten().cumsum(0) - 1 if sequences is None else sequences.flatten())[slice(None) if places is None else places]",
        LAYOUT,
    ),
    Mutation(
        "layout: ranks are not counted anew in each sequence", "alibert_fairseq/data/layout.py",
        "torch.arange(int(total), device=lengths.device) - ends[rows]", "torch.arange(int(total), device=lengths.device)",
        f"{LAYOUT}::test_padded_rows",
    ),
    Mutation(
        "layout: masked tokens by their places in the padded batch", "alibert_fairseq/data/layout.py",
        "places, chosen, _spans(counts))", "places, masked.flatten().nonzero()[:, 0], _spans(counts))",
        f"{LAYOUT}::test_masked_tokens",
    ),
    Mutation(
        "layout: masked tokens counted by rows, not by sequences", "alibert_fairseq/data/layout.py",
        "torch.bincount(tokens.rows[chosen], minlength=len(tokens.lengths))", "masked.sum(1)", f"{LAYOUT}::test_masked_tokens",
    ),
    Mutation(
        "layout: padding takes the place of tokens on the way back", "alibert_fairseq/data/layout.py",
        ".index_copy(0, self.real, flat)", ".index_copy(0, torch.arange(len(flat)), flat)",
        f"{LAYOUT}::test_flat_and_padded_are_inverse",
    ),
    Mutation(
        "layout: masked tokens have each other's sampling numbers", "alibert_fairseq/data/layout.py",
        'inputs["uniforms"][masked]', 'inputs["uniforms"][masked].flip(0)',
        f"{LAYOUT}::test_a_laid_out_batch_has_the_masked_tokens_alone",
    ),
    Mutation(
        "the z-loss in validation too", "alibert_fairseq/criterions/masked_lm.py",
        "self.z_loss if model.training else 0.0", "self.z_loss",
        "tests/alibert_fairseq/criterions/test_reduction.py::test_the_z_loss_adds_the_squared_logarithm_of_the_normaliser_in_training_alone",
    ),
    Mutation(
        "an output bias of frequencies, not of their logarithm", "alibert_fairseq/models/initialisation.py",
        "(counts / counts.sum()).log()", "counts / counts.sum()", "tests/alibert_fairseq/models/test_initialisation.py",
    ),
    Mutation(
        "modern detection: masks that stay are judged", "alibert_fairseq/models/electra_modern.py",
        "& judged, judged, words)", "& judged, None, words)", f"{MODERN}::test_replaced_token_detection",
    ),
    Mutation(
        "modern detection: the mean over the judged tokens alone", "alibert_fairseq/criterions/electra.py",
        "(masked / tokens)", "(masked / (len(detection) if output.judged is None else output.judged.sum()))",
        f"{MODERN}::test_replaced_token_detection",
    ),
    Mutation(
        "modern detection: the number that keeps a mask also draws its sample", "alibert_fairseq/models/electra_modern.py",
        "((uniforms - share) / (1 - share)).clamp(min=0)", "uniforms", ELECTRA_MODERN,
    ),
    Mutation(
        "modern detection: the temperature does not fall", "alibert_fairseq/models/electra_modern.py",
        "(self.progress if self.training else 1.0)", "1.0", ELECTRA_MODERN,
    ),
    Mutation(
        "modern detection: temperature not handed to the samples", "alibert_fairseq/models/electra_modern.py",
        ".clamp(min=0), self.temperature)", ".clamp(min=0), 1.0)", ELECTRA_MODERN,
    ),
    Mutation(
        "modern detection: a frozen generator with dropout", "alibert_fairseq/models/electra_modern.py",
        "            self.generator.eval()\n", "            pass\n", ELECTRA_MODERN,
    ),
    Mutation(
        "modern detection: the generator does not start from the checkpoint", "alibert_fairseq/models/electra_modern.py",
        "fresh if theirs is None else theirs", "fresh", ELECTRA_MODERN,
    ),
    Mutation(
        "the last weights exported in the place of their average", "alibert_fairseq/hf/checkpoint.py",
        'weights = extra.get("ema_fp32_params", extra["ema"]) if average else weights', "pass",
        "tests/end_to_end/test_export.py::test_the_average_of_the_weights_is_exported_where_the_run_kept_one",
    ),
    Mutation(
        "words: half of the gradient at the target", "alibert_fairseq/layers/word_loss.py",
        "part.new_full((len(part), 1), -times)", "part.new_full((len(part), 1), -times / 2)", WORD_LOSS,
    ),
    Mutation(
        "words: each of several highest scores counts as right", "alibert_fairseq/layers/word_loss.py",
        "((own == 0) / (scores.shape[-1] + smaller)).sum()", "(own == 0).to(own).sum()", WORD_LOSS,
    ),
    Mutation(
        "words: scores that are not relative to the best", "alibert_fairseq/layers/word_loss.py",
        "part.sub_(best[rows, None])", "pass", WORD_LOSS,
    ),
    Mutation(
        "words: the gradient of the features is not scaled by the incoming one", "alibert_fairseq/layers/word_loss.py",
        ".to(grad.dtype).mul_(grad).to(features.dtype)", ".to(grad.dtype).to(features.dtype)", WORD_LOSS,
    ),
    Mutation(
        "words: the gradient of the table is not scaled by the incoming one", "alibert_fairseq/layers/word_loss.py",
        "(features.to(grad.dtype) * grad)", "features", WORD_LOSS,
    ),
    Mutation(
        "words: a sample of the scores of another token", "alibert_fairseq/layers/word_loss.py",
        "draw(part.float(), samples.uniforms[rows])", "draw(part.float().roll(1, 0), samples.uniforms[rows])", WORD_LOSS,
    ),
    Mutation(
        "words: every piece samples with the numbers of the first", "alibert_fairseq/layers/word_loss.py",
        "draw(part.float(), samples.uniforms[rows])", "draw(part.float(), samples.uniforms[: len(part)])", WORD_LOSS,
    ),
    Mutation(
        "words: a z-loss without a gradient", "alibert_fairseq/layers/word_loss.py",
        "pull = 1 + 2 * z_loss * (total[rows].log() + best[rows]) if z_loss else 1.0", "pull = 1.0", WORD_LOSS,
    ),
    Mutation(
        "words: the normaliser of the z-loss is that of the scores relative to the best",
        "alibert_fairseq/layers/word_loss.py", "(total.log() + best).square()", "total.log().square()", WORD_LOSS,
    ),
    Mutation(
        "words: small gradients are lost in float16", "alibert_fairseq/layers/word_loss.py",
        "KEPT_TIMES = {torch.float16: 2.0**12}", "KEPT_TIMES = {}", WORD_LOSS,
    ),
    Mutation(
        "attention: no scale of the scores", "alibert_fairseq/layers/pieces.py",
        "torch.bmm(own_q * scale, own_k.mT)", "torch.bmm(own_q, own_k.mT)", ATTENTION,
    ),
    Mutation(
        "attention: no scale in the gradient of the keys", "alibert_fairseq/layers/pieces.py",
        "torch.bmm(of_scores.mT, own_q * scale)", "torch.bmm(of_scores.mT, own_q)", ATTENTION,
    ),
    Mutation(
        "attention: the keys of another sequence", "alibert_fairseq/layers/pieces.py",
        "query, key, sequence = queries.stop, keys.stop,", "query, key, sequence = queries.stop, queries.stop,", ATTENTION,
    ),
    Mutation(
        "attention: sequences in a piece see the window of its first one", "alibert_fairseq/layers/pieces.py",
        "own_masks = sight.mask is not None and sight.queries is not sight.keys", "own_masks = False", ATTENTION,
    ),
    Mutation(
        "attention: masked tokens have the window of the first places", "alibert_fairseq/layers/sight.py",
        "[sight.mask[own, :length] for own, length", "[sight.mask[: len(own), :length] for own, length", ATTENTION,
    ),
    Mutation(
        "attention: heads and sequences of a piece mixed up", "alibert_fairseq/layers/pieces.py",
        "place.copy_(values.view(place.shape))",
        "place.copy_(values.view(place.shape[1], place.shape[0], *place.shape[2:]).transpose(0, 1))", ATTENTION,
    ),
    Mutation(
        "attention: every piece computes the first heads", "alibert_fairseq/layers/pieces.py",
        "slice(head, head + at_a_time)", "slice(0, at_a_time)", ATTENTION,
    ),
    Mutation(
        "attention: dropout not applied to the gradient of the scores", "alibert_fairseq/layers/pieces.py",
        "of_scores.mul_(times)", "pass", ATTENTION,
    ),
    Mutation(
        "attention: dropout not applied to the gradient of the values", "alibert_fairseq/layers/pieces.py",
        "used = probabilities * times", "used = probabilities", ATTENTION,
    ),
    Mutation(
        "attention: dropout in a validation, too", "alibert_fairseq/models/blocks.py",
        "self.dropout if self.training else 0.0", "self.dropout", "tests/parity/test_encoder.py",
    ),
    Mutation(
        "attention: PyTorch's kernel takes the queries' ends for those of the keys", "alibert_fairseq/layers/attention.py",
        "queries.ends, keys.ends,", "queries.ends, queries.ends,", ATTENTION,
    ),
    Mutation(
        "attention: PyTorch's kernel for masked tokens with a window, which it counts from the last of them",
        "alibert_fairseq/layers/attention.py", "if sight.mask is not None and sight.queries is not sight.keys:", "if False:",
        ATTENTION,
    ),
    Mutation(
        "last layer: queries of tokens that are not masked", "alibert_fairseq/models/blocks.py",
        "own = x.index_select(0, view.only)", "own = x[: len(view.only)]", WORDS,
    ),
    Mutation(
        "last layer: the residual of tokens that are not masked", "alibert_fairseq/models/blocks.py",
        "return x if self.only is None else x.index_select(0, self.only)",
        "return x if self.only is None else x[: len(self.only)]", f"{WORDS} {MODERN}",
    ),
    Mutation(
        "last layer: queries turned by the places of tokens that are not masked", "alibert_fairseq/models/blocks.py",
        "(cosines.index_select(0, self.only), sines.index_select(0, self.only))", "(cosines[: len(self.only)], sines[: len(self.only)])", MODERN,
    ),
    Mutation(
        "last layer: the window of tokens that are not masked", "alibert_fairseq/models/encoder.py",
        "places = layout.tokens.ranks.index_select(0, layout.masked)", "places = layout.of_masked.ranks", MODERN,
    ),
    Mutation(
        "dropout: what is kept is not scaled", "alibert_fairseq/layers/dropout.py",
        "kept.mul_(LEVELS / (LEVELS - dropped))", "kept", DROPOUT,
    ),
    Mutation(
        "dropout: bits read as numbers without a sign", "alibert_fairseq/layers/dropout.py",
        "dropped - LEVELS // 2", "dropped", DROPOUT,
    ),
    Mutation(
        "logs: the norm of an update is its sample size", "alibert_fairseq/callbacks/pending_logs.py",
        "size, norm = here(log.sample_size), torch.as_tensor(here(log.norm))",
        "norm, size = here(log.sample_size), torch.as_tensor(here(log.norm))", PENDING,
    ),
    Mutation(
        "logs: numbers read in another order than they were sent", "alibert_fairseq/callbacks/pending_logs.py",
        "*(one for part in (log.facts, *log.outputs) for one in part.values())]",
        "*(one for part in reversed((log.facts, *log.outputs)) for one in part.values())]", PENDING,
    ),
    Mutation(
        "logs: not read at the end of an epoch", "alibert_fairseq/callbacks/pending_logs.py",
        "bool(last or at_step or trainer.end_of_epoch())", "bool(last or at_step)", PENDING,
    ),
    Mutation(
        "logs: not read before a checkpoint", "alibert_fairseq/trainer.py",
        "self.log_pending()\n        return super().consolidate_optimizer()", "return super().consolidate_optimizer()",
        PENDING,
    ),
    Mutation(
        "logs: updates read together have the facts of the last one", "alibert_fairseq/trainer.py",
        "self.metrics_log.write_update(facts, tokens, norm, found)",
        "self.metrics_log.write_update(self.metrics_log.facts(0), tokens, norm, found)", PENDING,
    ),
    Mutation(
        "precision: a resumed run measures again", "alibert_fairseq/callbacks/precision.py",
        "self.chosen = (extra_state or {}).get(PRECISION)", "self.chosen = None", PRECISION,
    ),
    Mutation(
        "precision: the slower one is chosen", "alibert_fairseq/callbacks/precision.py",
        "seconds[True] < seconds[False]", "seconds[True] > seconds[False]", PRECISION,
    ),
    Mutation(
        "tagger: a word's own score weighs what its document's should", "downstream/learners/tagger_decoding.py",
        "share * means[which] + (1 - share) * flat",
        "(1 - share) * means[which] + share * flat",
        f"{TAGGER}::test_equal_words_of_a_document_share_their_scores",
    ),
    Mutation(
        "tagger: the characters of a replaced word are seen", "downstream/learners/tagger_network.py",
        "words.characters * ~drawn.unsqueeze(-1)", "words.characters",
        f"{TAGGER}::test_a_word_that_training_replaces_is_told_by_its_neighbours_alone",
    ),
    Mutation(
        "tagger: a group of sequences read twice", "downstream/learners/tagger_network.py",
        "start += size", "start += size - 1",
        f"{TAGGER}::test_short_sequences_are_read_apart_with_the_same_states",
    ),
    Mutation(
        "tagger: O gains what it should lose", "downstream/learners/tagger.py",
        "[:, 0] -= less", "[:, 0] += less",
        f"{TAGGER}::test_the_decision_is_chosen_on_dev_and_stays_in_the_model",
    ),
    Mutation(
        "tagger: the field ends with any tag for nothing", "downstream/learners/chain_crf.py",
        "return (total + self.ends).logsumexp(-1)", "return total.logsumexp(-1)",
        f"{TAGGER}::test_the_field_equals_a_sum_over_all_sequences_of_tags",
    ),
    Mutation(
        "bi-encoder: a candidate that two questions have is a wrong one", "downstream/learners/bi_encoder.py",
        "| (second == second[:, None]) |", "|", BI_ENCODER,
    ),
    Mutation(
        "bi-encoder: candidates find no questions", "downstream/learners/bi_encoder.py",
        "functional.cross_entropy(scores.T, own)", "functional.cross_entropy(scores, own)", BI_ENCODER,
    ),
    Mutation(
        "bi-encoder: padding counts in the mean", "downstream/learners/bi_encoder.py",
        "(states * real.unsqueeze(-1)).sum(1)", "states.sum(1)", BI_ENCODER,
    ),
    Mutation(
        "causal: tokens see later ones", "alibert_fairseq/layers/sight.py", "mask & (behind <= 0)", "mask & (behind >= 0)",
        "tests/alibert_fairseq/models/test_models.py::test_in_a_causal_batch_no_token_sees_a_later_one",
    ),
    Mutation(
        "causal: a token is its own answer", "alibert_fairseq/data/curriculum.py",
        "following[:, :-1] = tokens[:, 1:].masked_fill(",
        "following[:, :-1] = tokens[:, :-1].masked_fill(",
        "tests/alibert_fairseq/data/test_curriculum.py",
    ),
    Mutation(
        "label attention: padding has a part in the mean", "downstream/learners/label_attention.py",
        "attention_mask.unsqueeze(-1) == 0", "attention_mask.unsqueeze(-1) < 0", LABELS,
    ),
    Mutation(
        "label attention: the border is added", "downstream/learners/label_attention.py",
        "share * counted - border", "share * counted + border", LABELS,
    ),
    Mutation(
        "label attention: the recipe's threshold counts, too", "downstream/learners/label_attention.py",
        "task.named(row + task.limit)", "task.named(row)", LABELS,
    ),
    Mutation(
        "label attention: the parts have each other's share", "downstream/learners/label_attention.py",
        "(1 - share) * logits + share * counted", "share * logits + (1 - share) * counted", LABELS,
    ),
    Mutation(
        "label attention: a rare label weighs no more", "downstream/learners/label_attention.py",
        ", pos_weight=self.weights", "", LABELS,
    ),
    Mutation(
        "regression: a saved pair is read without its second text", "downstream/learners/term_regression.py",
        'f"{first} {second}" if second else first', "first", "tests/downstream/learners/test_term_regression.py",
    ),
]  # fmt: skip


if __name__ == "__main__":
    sys.exit(try_all(MUTATIONS, "mistake", "planted in", sys.argv[1:]))
