"""Take out one check of bad input after the other and see its test fail: docs/results/bad_input.md.

python tests/campaigns/bad_input_mutations.py [WORD]      # only the rows whose first column holds WORD
"""

import sys

from mutations import Mutation, try_all

MUTATIONS = [
    Mutation(
        "missing corpus", "preprocess/documents/document.py", "if not path.exists():", "if False:",
        "tests/preprocess/documents/test_documents.py::test_a_missing_file_is_refused",
    ),
    Mutation(
        "empty corpus", "preprocess/documents/document.py", "if not count:", "if False:",
        "tests/preprocess/documents/test_documents.py::test_a_file_without_a_document_is_refused",
    ),
    Mutation(
        "folder without a text", "preprocess/readers/folders.py", "if not count:", "if False:",
        "tests/preprocess/readers/test_readers_folders.py::test_paths_that_cannot_be_read_are_named",
    ),
    Mutation(
        "missing annotations", "downstream/data/splits.py", "if not path.exists():", "if False:",
        "tests/downstream/data/test_splits.py::test_missing_and_empty_splits_are_refused",
    ),
    Mutation(
        "no annotated document", "downstream/data/splits.py", "if not items:", "if False:",
        "tests/downstream/data/test_splits.py::test_missing_and_empty_splits_are_refused",
    ),
    Mutation(
        "corpus not UTF-8", "preprocess/documents/document.py", '.join(lines).decode()', '.join(lines).decode(errors="replace")',
        "tests/preprocess/documents/test_documents.py::test_bytes_that_are_not_utf8_are_named",
    ),
    Mutation(
        "annotations not UTF-8", "alibert_common/files.py", 'raw.decode("utf-8")', 'raw.decode("utf-8", "replace")',
        "tests/downstream/data/test_annotated_readers.py::test_bytes_that_are_not_utf8_are_named",
    ),
    Mutation(
        "tokenizer whose ids are not dict.txt's", "preprocess/tokenizer/load.py", "if piece != wanted:", "if False:",
        "tests/preprocess/tokenizer/test_tokenizer_load.py::test_a_dict_txt_of_another_tokenizer_is_refused_with_the_first_difference",
    ),
    Mutation(
        "dict.txt too short or too long", "preprocess/tokenizer/load.py", "if len(pieces) != len(expected):", "if False:",
        "tests/preprocess/tokenizer/test_tokenizer_load.py::test_a_dict_txt_too_short_or_too_long_is_refused",
    ),
    Mutation(
        "the same, at the start of a training", "alibert_fairseq/tasks/tokenizer_identity.py",
        "load_tokenizer(Path(path))  # compares its ids with dict.txt", "pass",
        "tests/end_to_end/test_bad_training_input.py::test_a_tokenizer_whose_ids_are_not_those_of_the_dictionary",
    ),
    Mutation(
        "data-bin of another dictionary", "alibert_fairseq/data/blocks.py",
        "if len(lines[index]) and int(lines[index].max()) >= entries:", "if False:",
        "tests/end_to_end/test_bad_training_input.py::test_a_data_bin_of_another_dictionary",
    ),
    Mutation(
        "truncated .idx", "preprocess/databin/fairseq_writer.py", 'BYTES_PER_ITEM, "its header")',
        'BYTES_PER_ITEM, "its header") if False else None',
        "tests/preprocess/databin/test_fairseq_writer.py::test_a_missing_or_too_long_file_is_named",
    ),
    Mutation(
        "truncated .bin", "preprocess/databin/fairseq_writer.py", "    _refuse_size(data,", "    (lambda *_: None)(data,",
        "tests/preprocess/databin/test_fairseq_writer.py::test_a_truncated_file_is_named",
    ),
    Mutation(
        "the same, at the start of a training", "alibert_fairseq/data/blocks.py", "    check_split(Path(path))\n", "",
        "tests/end_to_end/test_bad_training_input.py::test_a_truncated_split",
    ),
    Mutation(
        "brat offsets beyond the text", "downstream/data/readers/brat.py",
        "if not 0 <= start < end <= len(text):", "if False:",
        "tests/downstream/data/test_annotated_readers.py::test_brat_names_file_and_line_of_a_bad_entity",
    ),
    Mutation(
        "brat offsets that do not match the text", "downstream/data/readers/brat.py",
        "if _quoted(text, fragments) != _one_line(quoted):", "if False:",
        "tests/downstream/data/test_annotated_readers.py::test_brat_names_file_and_line_of_a_bad_entity",
    ),
    Mutation(
        "entity type the recipe does not know", "downstream/data/annotated_text.py", "if label in self.ignore:", "if True:",
        "tests/downstream/data/test_annotated_readers.py::test_brat_names_file_and_line_of_a_bad_entity",
    ),
    Mutation(
        "checkpoint of another objective", "alibert_fairseq/hf/checkpoint.py", "if model_name is None:", "if False:",
        "tests/end_to_end/test_export.py::test_bad_checkpoints_are_refused_in_one_sentence",
    ),
    Mutation(
        "checkpoint of another dictionary", "alibert_fairseq/hf/checkpoint.py",
        "    _check_vocabulary(path, weights, dictionary)\n", "",
        "tests/end_to_end/test_export.py::test_another_tokenizer_is_refused",
    ),
    Mutation(
        "foreign pickle", "fairseq_compat/checkpoints/loading.py", "weights_only=True)", "weights_only=False)",
        "tests/fairseq_compat/test_fairseq_compat.py::test_a_foreign_pickle_is_refused_and_not_run",
    ),
    Mutation(
        "the same, to export", "fairseq_compat/checkpoints/loading.py", "weights_only=True)", "weights_only=False)",
        "tests/end_to_end/test_export.py::test_bad_checkpoints_are_refused_in_one_sentence",
    ),
    Mutation(
        "tokenizer of another training, to export", "alibert_fairseq/hf/export.py",
        "if different := different_tokenizer(checkpoint.task_state, digests(str(tokenizer))):", "if different := None:",
        "tests/end_to_end/test_export.py::test_another_tokenizer_of_the_same_size_is_refused",
    ),
    Mutation(
        "data-bin of another tokenizer, resuming", "alibert_fairseq/tasks/pretraining.py",
        "if different := different_tokenizer(state_dict, self.tokenizer_digests):", "if different := None:",
        "tests/end_to_end/test_bad_training_input.py::"
        "test_the_checkpoint_of_another_tokenizer_with_a_vocabulary_as_large",
    ),
    Mutation(
        "checkpoint of another objective, resuming", "fairseq_compat/checkpoints/resuming.py",
        "if not str(error).startswith(NO_FIT):", "if True:",
        "tests/end_to_end/test_bad_training_input.py::test_the_checkpoint_of_another_objective",
    ),
    Mutation(
        "disk full, training", "fairseq_compat/checkpoints/saving.py", '            os.unlink(f"{path}.tmp")', "            pass",
        "tests/end_to_end/test_bad_training_input.py::test_a_full_disk_leaves_the_checkpoints_whole",
    ),
    Mutation(
        "a single document", "preprocess/mix.py",
        "if share and not any(part.valid.documents for part in parts.values()):", "if False:",
        "tests/preprocess/mixing/test_mix.py::test_a_single_document_is_refused_unless_nothing_is_to_be_set_apart",
    ),
    Mutation(
        "disk full, a file", "alibert_common/files.py", "        aside.unlink(missing_ok=True)\n", "        pass\n",
        "tests/preprocess/tokenizer/test_tokenizer_training.py::test_a_full_disk_is_one_sentence_and_leaves_nothing "
        "tests/common/test_files.py",
    ),
    Mutation(
        "disk full, a folder", "alibert_common/directories.py",
        "        shutil.rmtree(aside, ignore_errors=True)\n", "        pass\n",
        "tests/common/test_directories.py::test_an_error_leaves_the_older_directory_and_nothing_else",
    ),
    Mutation(
        "disk full, the sentence", "alibert_common/errors.py", "        sys.exit(_say(describe_os_error(error)))",
        "        raise", "tests/preprocess/tokenizer/test_tokenizer_training.py::test_a_full_disk_is_one_sentence_and_leaves_nothing",
    ),
    Mutation(
        "disk full, fine-tuning", "alibert_common/directories.py", "        shutil.rmtree(aside, ignore_errors=True)\n",
        "        pass\n",
        "tests/end_to_end/test_finetune.py::test_a_full_disk_is_one_sentence_and_leaves_no_half_seed",
    ),
    Mutation(
        "published model: output words of their own", "alibert_fairseq/hf/published/model.py",
        "if not torch.equal(stored.float(), table):", "if False:",
        "tests/end_to_end/test_load_refusals.py::test_what_cannot_be_continued_is_refused_and_nothing_is_written",
    ),
    Mutation(
        "published model: a head is missing", "alibert_fairseq/hf/published/model.py", "if not missing:", "if True:",
        "tests/end_to_end/test_load_refusals.py::test_what_cannot_be_continued_is_refused_and_nothing_is_written",
    ),
    Mutation(
        "published model: padding of another tokenizer", "alibert_fairseq/hf/load.py",
        'if config.pad_token_id != source.ids["pad"]:', "if False:",
        "tests/end_to_end/test_load_refusals.py::test_what_cannot_be_continued_is_refused_and_nothing_is_written",
    ),
    Mutation(
        "published model: logits that differ", "alibert_fairseq/hf/logit_check.py", "if not difference <= TOLERANCE:",
        "if False:", "tests/end_to_end/test_load.py::test_weights_under_wrong_names_are_seen_by_their_logits",
    ),
    Mutation(
        "published tokenizer: read otherwise by its class", "alibert_fairseq/hf/published/tokenizer.py",
        "            self._check_own_file(", "            (lambda *_, **__: None)(",
        "tests/end_to_end/test_load_refusals.py::test_a_class_that_contradicts_the_tokenizer_json_is_refused",
    ),
    Mutation(
        "published tokenizer: written otherwise", "alibert_fairseq/hf/load.py",
        "return rows, source.check_written(aside, written, source.folder)", "return rows, 0",
        "tests/end_to_end/test_load.py::test_a_tokenizer_that_is_written_otherwise_is_refused",
    ),
    Mutation(
        "published model: a head with another GELU", "alibert_fairseq/models/config.py",
        'if becomes in EXACT_GELU and activation != "gelu":', "if False:",
        "tests/end_to_end/test_load_refusals.py::test_what_cannot_be_continued_is_refused_and_nothing_is_written",
    ),
    Mutation(
        "published model: NaN", "alibert_fairseq/hf/published/model.py",
        "if not value.isfinite().all()", "if False",
        "tests/end_to_end/test_load_refusals.py::test_what_cannot_be_continued_is_refused_and_nothing_is_written",
    ),
    Mutation(
        "published model: two biases", "alibert_fairseq/hf/published/model.py",
        "if len(trained) == 2 and unused and model.config.tie_word_embeddings:", "if False:",
        "tests/end_to_end/test_load_refusals.py::test_what_cannot_be_continued_is_refused_and_nothing_is_written",
    ),
    Mutation(
        "published model: a bias of zeros", "alibert_fairseq/hf/published/model.py",
        "name = trained[-1]", "name = [*stored][-1]",
        "tests/end_to_end/test_load_refusals.py::test_a_bias_of_zeros_beside_another_one_is_left_out",
    ),
    Mutation(
        "published model: rows of other words", "alibert_fairseq/hf/published/model.py",
        "if rows != config.vocab_size:", "if False:",
        "tests/end_to_end/test_load_refusals.py::test_what_cannot_be_continued_is_refused_and_nothing_is_written",
    ),
    Mutation(
        "published model: its own kernels", "alibert_fairseq/hf/published/model.py",
        'attn_implementation="sdpa" if cls._supports_sdpa else "eager",', "",
        "tests/end_to_end/test_load_refusals.py::test_settings_of_how_transformers_computes_are_not_followed",
    ),
    Mutation(
        "published model: a decoder", "alibert_fairseq/hf/families/part.py",
        'if getattr(config, "is_decoder", False):', "if False:",
        "tests/end_to_end/test_load_refusals.py::test_what_cannot_be_continued_is_refused_and_nothing_is_written",
    ),
    Mutation(
        "published model: scaled positions", "alibert_fairseq/hf/families/modern.py",
        '!= {"default"}:', "== set():",
        "tests/end_to_end/test_load_refusals.py::test_what_cannot_be_continued_is_refused_and_nothing_is_written",
    ),
    Mutation(
        "published model: a name that checkpoints cannot hold", "alibert_fairseq/hf/load.py",
        'if "${" in place or place != readable(place):', "if False:",
        "tests/end_to_end/test_load_refusals.py::test_an_output_that_a_checkpoint_cannot_name_is_refused",
    ),
    Mutation(
        "published tokenizer: a special token in text", "alibert_fairseq/hf/published/tokenizer.py",
        'if "<mask>" not in text and [layout.begin, *found] != expected[text]:', "if False:",
        "tests/end_to_end/test_load_refusals.py::test_what_cannot_be_continued_is_refused_and_nothing_is_written",
    ),
    Mutation(
        "published tokenizer: a limit of long words", "alibert_fairseq/hf/published/tokenizer.py",
        "if same_limit and limits[0] != limits[1]:", "if False:",
        "tests/end_to_end/test_load_refusals.py::test_a_class_that_splits_longer_words_is_refused",
    ),
    Mutation(
        "generator of another tokenizer", "alibert_fairseq/hf/load.py",
        "        source.check_same(generator_part.folder)", "        pass",
        "tests/end_to_end/test_load_refusals.py::test_a_generator_with_another_tokenizer_is_refused",
    ),
    Mutation(
        "width that the heads do not divide", "alibert_fairseq/models/size.py",
        "if self.width % self.heads:", "if False:",
        "tests/alibert_fairseq/models/test_models.py::test_what_a_modern_body_cannot_be_is_refused_in_one_sentence",
    ),
    Mutation(
        "odd width of a head with rotary positions", "alibert_fairseq/models/size.py",
        "if self.width // self.heads % 2:", "if False:",
        "tests/alibert_fairseq/models/test_models.py::test_what_a_modern_body_cannot_be_is_refused_in_one_sentence",
    ),
    Mutation(
        "fp16 that joins all parameters", "alibert_fairseq/optim/param_groups.py",
        "if len(params) == 1 and params[0].ndim == 1:", "if False:",
        "tests/alibert_fairseq/optim/test_optim_refusals.py::test_weights_without_layers_or_without_float32_are_refused",
    ),
    Mutation(
        "length beyond the maximum", "alibert_fairseq/models/pretraining.py",
        "if task.max_positions() > cfg.max_positions:", "if False:",
        "tests/end_to_end/test_bad_training_input.py::test_settings_that_cannot_be",
    ),
    Mutation(
        "budget too small for one decay", "alibert_fairseq/callbacks/budget.py",
        "if not SHORTEST <= self.minutes < math.inf:", "if False:",
        "tests/end_to_end/test_budget_minutes.py::test_a_budget_that_the_schedules_cannot_use_is_refused",
    ),
    Mutation(
        "a limit that ends a budget before its decay", "alibert_fairseq/callbacks/budget.py",
        "if named := [", "if named := [] and [",
        "tests/end_to_end/test_budget_minutes.py::test_a_budget_that_the_schedules_cannot_use_is_refused",
    ),
    Mutation(
        "exponent of a decay that cannot be", "alibert_fairseq/optim/schedules.py",
        "0 < cfg.power < math.inf", "True",
        "tests/alibert_fairseq/optim/test_schedules.py::test_options_that_give_no_schedule_are_refused_in_one_sentence",
    ),
    Mutation(
        "end of a schedule above its rate", "alibert_fairseq/optim/schedules.py",
        "0 <= lowest <= cfg.lr[0]", "True",
        "tests/alibert_fairseq/optim/test_schedules.py::test_options_that_give_no_schedule_are_refused_in_one_sentence",
    ),
    Mutation(
        "average of the weights that runs away", "fairseq_compat/command_line.py",
        "not 0 <= args.ema_decay < 1", "False",
        "tests/fairseq_compat/test_fairseq_compat_runs.py::test_an_average_that_runs_away_is_refused_in_one_sentence",
    ),
    Mutation(
        "weight of a loss below 0", "alibert_fairseq/criterions/electra.py",
        "0 <= weight < math.inf", "True",
        "tests/alibert_fairseq/criterions/test_reduction.py::test_a_weight_that_cannot_be_is_refused",
    ),
    Mutation(
        "weight of words that a published encoder does not predict", "alibert_fairseq/criterions/electra.py",
        "if self.training and output.words is None and self.cfg.encoder_weight != 1:", "if False:",
        "tests/alibert_fairseq/criterions/test_reduction.py::test_a_published_encoder_predicts_no_words_that_could_have_a_weight",
    ),
    Mutation(
        "base of rotary positions that cannot be", "alibert_fairseq/layers/rotary.py",
        "if not least <= getattr(self, name) < math.inf:", "if getattr(self, name) < least:",
        "tests/alibert_fairseq/models/test_models.py::test_what_a_modern_body_cannot_be_is_refused_in_one_sentence",
    ),
    Mutation(
        "hospital: files of a folder that cannot be read", "preprocess/ingestion/unreadable.py",
        'if not rows or options.on_error == "skip":', "if True:",
        "tests/preprocess/ingestion/test_unreadable.py::test_all_files_that_cannot_be_read_are_counted_by_reason_and_listed",
    ),
    Mutation(
        "hospital: output that lacks files", "preprocess/ingestion/unreadable.py",
        'if options.on_error == "stop" and (output', "if False and (output",
        "tests/preprocess/ingestion/test_unreadable.py::test_an_output_that_lacks_files_does_not_pass_for_a_whole_one",
    ),
    Mutation(
        "hospital: file that takes too long", "preprocess/readers/conversion/isolated.py",
        'timer = Timer(question["seconds"], end)', 'timer = Timer(25, end)',
        "tests/preprocess/readers/test_isolated.py::test_a_file_that_takes_too_long_is_given_up",
    ),
    Mutation(
        "hospital: file that opens a connection, runs a program or writes", "preprocess/readers/conversion/child.py",
        "sys.addaudithook(_refuse)", "pass",
        "tests/preprocess/readers/test_isolated.py::test_neither_network_nor_commands_nor_output",
    ),
    Mutation(
        "hospital: password in a URL", "preprocess/readers/records/database.py",
        "if url.password is not None or SECRET", "if SECRET",
        "tests/preprocess/ingestion/test_database.py::test_a_url_that_is_none_or_tells_a_password_is_refused",
    ),
    Mutation(
        "hospital: table that changes while it is read", "preprocess/ingestion/notes_table.py",
        "if self.database and state_of(", "if False and state_of(",
        "tests/preprocess/ingestion/test_database.py::test_a_table_that_changes_is_refused_and_read_anew",
    ),
    Mutation(
        "hospital: rows without an id", "preprocess/readers/records/database.py", "if with_id < rows:", "if False:",
        "tests/preprocess/ingestion/test_database.py::test_a_table_that_cannot_be_read_is_one_sentence",
    ),
    Mutation(
        "hospital: pattern that finds no patient", "preprocess/ingestion/checks.py",
        "if read_options.patient_pattern and whole", "if False and whole",
        "tests/preprocess/readers/test_document_patients.py::test_a_pattern_that_finds_no_patient_is_refused",
    ),
    Mutation(
        "hospital: patient said twice", "preprocess/readers/options.py",
        "if self.patient_pattern and self.patient:", "if False:",
        "tests/preprocess/readers/test_document_patients.py::test_a_patient_is_told_once",
    ),
    Mutation(
        "hospital: two keys for one corpus", "preprocess/pipeline/checks.py",
        'if step.stage == "pseudonymise"}) > 1:', 'if False}) > 1:',
        "tests/preprocess/pipeline/test_hospital_corpus.py::test_what_cannot_be_meant_is_refused_before_any_work",
    ),
    Mutation(
        "hospital: pattern of numbers that cannot be", "preprocess/pseudonymisation/settings.py",
        "compiled(patterns, option)", "pass",
        "tests/preprocess/pseudonymisation/test_pseudonymise.py::test_bad_input_is_one_sentence",
    ),
    Mutation(
        "hospital: key inside the output", "preprocess/pseudonymise.py",
        "if folder.resolve() in key_file.resolve().parents:", "if False:",
        "tests/preprocess/pseudonymisation/test_pseudonymise.py::test_bad_input_is_one_sentence",
    ),
    Mutation(
        "hospital: key that changes while it is used", "preprocess/pseudonymise.py",
        "if key_digest(key) != self.digest:", "if False:",
        "tests/preprocess/pseudonymisation/test_pseudonymise.py::test_a_key_that_changes_while_it_is_used_is_refused",
    ),
    Mutation(
        "hospital: annotated document without a patient", "downstream/data/patients.py",
        "if unknown := list(", "if False and list(",
        "tests/downstream/data/test_patients.py::test_a_document_without_patient_or_with_two_is_refused",
    ),
    Mutation(
        "audit: no held-out documents", "alibert_fairseq/audit/texts.py",
        'if not Path(f"{data_bins[0] / VALID}.idx").exists():', "if False:",
        "tests/alibert_fairseq/audit/test_audit.py::test_what_cannot_be_audited_is_refused_in_one_sentence",
    ),
    Mutation(
        "audit: fewer than 100 members", "alibert_fairseq/audit/texts.py",
        "if member and documents < LEAST_MEMBERS:", "if False:",
        "tests/alibert_fairseq/audit/test_audit.py::test_what_cannot_be_audited_is_refused_in_one_sentence",
    ),
    Mutation(
        "audit: data-bin that is gone", "alibert_fairseq/lineage/run.py",
        "if not Path(path).is_dir():", "if False:",
        "tests/alibert_fairseq/audit/test_audit.py::test_what_cannot_be_audited_is_refused_in_one_sentence",
    ),
    Mutation(
        "audit: another data-bin", "alibert_fairseq/lineage/run.py",
        'if self.task_state.get("data", here := manifest_digests(self.cfg.task.data)) != here:', "if False:",
        "tests/alibert_fairseq/audit/test_audit.py::test_what_cannot_be_audited_is_refused_in_one_sentence",
    ),
    Mutation(
        "audit: patients of some documents only", "alibert_fairseq/audit/texts.py",
        "    tally.check(data_bins[0])\n", "    pass\n",
        "tests/alibert_fairseq/audit/test_audit.py::test_a_source_where_some_patients_are_missing_is_refused",
    ),
    Mutation(
        "audit: card of another checkpoint", "alibert_fairseq/hf/export.py",
        'if figures.get("model", {}).get("sha256") != sha256_of(checkpoint):', "if False:",
        "tests/alibert_fairseq/audit/test_audit.py::test_the_card_of_an_export_has_the_figures_of_its_own_audit",
    ),
    Mutation(
        "lineage: no such document", "alibert_fairseq/lineage/documents.py",
        "if missing := [", "if False and [",
        "tests/alibert_fairseq/lineage/test_lineage.py::test_what_has_no_answer_is_refused_in_one_sentence",
    ),
    Mutation(
        "lineage: order that does not fit metrics.jsonl", "alibert_fairseq/lineage/order.py",
        "if (last.epoch, tokens) != (update.epoch, update.tokens):", "if False:",
        "tests/alibert_fairseq/lineage/test_lineage.py::test_what_has_no_answer_is_refused_in_one_sentence",
    ),
    Mutation(
        "lineage: metrics.jsonl with a gap", "alibert_fairseq/lineage/run.py",
        "if update.number != len(updates) + 1:", "if False:",
        "tests/alibert_fairseq/lineage/test_lineage.py::test_what_has_no_answer_is_refused_in_one_sentence",
    ),
    Mutation(
        "retrain: output of another retraining", "alibert_fairseq/lineage/retrain.py",
        "and read_json(output / SETTINGS) != settings:", "and False:",
        "tests/alibert_fairseq/lineage/test_lineage.py::test_a_second_retraining_resumes_and_another_one_is_refused",
    ),
    Mutation(
        "retrain: file without a name", "alibert_fairseq/lineage/retrain.py",
        "    if not names:\n", "    if False:\n",
        "tests/alibert_fairseq/lineage/test_lineage.py::test_a_second_retraining_resumes_and_another_one_is_refused",
    ),
    Mutation(
        "retrain: output of something else", "alibert_fairseq/lineage/retrain.py",
        "if output.is_dir() and any(output.iterdir())", "if False",
        "tests/alibert_fairseq/lineage/test_lineage.py::"
        "test_an_output_of_something_else_and_a_text_without_documents_are_refused",
    ),
    Mutation(
        "retrain: no document left", "alibert_fairseq/lineage/retrain.py",
        "if len(wanted) == documents.total:", "if False:",
        "tests/alibert_fairseq/lineage/test_lineage.py::"
        "test_an_output_of_something_else_and_a_text_without_documents_are_refused",
    ),
    Mutation(
        "audit: patients of one side", "alibert_fairseq/audit/texts.py",
        "if patients < LEAST_HELD_OUT:", "if False:",
        "tests/alibert_fairseq/audit/test_audit.py::test_too_few_patients_on_a_side_are_refused",
    ),
    Mutation(
        "audit: card of the average", "alibert_fairseq/hf/export.py",
        "if audit and average:", "if False:",
        "tests/alibert_fairseq/audit/test_audit.py::test_the_card_of_an_export_has_the_figures_of_its_own_audit",
    ),
    Mutation(
        "check-anonymity: lines of the index", "preprocess/check_anonymity.py",
        "if not same or np.fromfile(index, \"u1\", 18)[17] != CODES[width]:", "if False:",
        "tests/preprocess/anonymity/test_check_anonymity.py::"
        "test_lines_that_a_training_would_read_otherwise_are_found",
    ),
    Mutation(
        "check-anonymity: split without proof", "preprocess/check_anonymity.py",
        'if extra := splits - set(self.proof["splits"]):', "if extra := set():",
        "tests/preprocess/anonymity/test_check_anonymity.py::test_a_split_that_the_proof_does_not_name_is_found",
    ),
]  # fmt: skip

if __name__ == "__main__":
    sys.exit(try_all(MUTATIONS, "bad input", "check taken out of", sys.argv[1:]))
