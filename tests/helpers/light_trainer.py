"""AlibertTrainer over a trainer of a few lines in place of fairseq's."""

import importlib.util
from types import SimpleNamespace
from unittest.mock import patch

import fairseq.trainer

import alibert_fairseq.trainer


class LightTrainer:
    """What of fairseq's Trainer the callbacks ask for; it notes in `done` what is called."""

    def __init__(self, cfg):
        self.cfg, self.data_parallel_rank, self.data_parallel_world_size = cfg, cfg.rank, cfg.processes
        self.updates, self.done, self.found = 4, [], {"loss": 6.5}
        self.task, self.optimizer = SimpleNamespace(train_step=self.task_step), SimpleNamespace(scaler=None)

    def task_step(self, sample):
        return None, 1, {}

    def load_checkpoint(self, filename, reset_optimizer=False):
        self.done.append("load")

    def get_train_iterator(self):
        self.done.append("iterator")

    def begin_epoch(self, epoch):
        self.done.append("epoch")

    def train_step(self, samples, raise_oom=False):
        self.done.append("step")
        self._aggregate_logging_outputs([], 1.0)
        self.updates += 1

    def valid_step(self, sample):
        self.done.append("valid")

    def _aggregate_logging_outputs(self, logging_outputs, *numbers, ignore=False):
        self.done.append("sum")
        return logging_outputs, list(numbers)

    def _check_grad_norms(self, norm):
        pass

    def clip_grad_norm(self, clip_norm):
        return clip_norm

    def _reduce_and_log_stats(self, logging_outputs, sample_size, grad_norm=None):
        return self.found

    def _log_oom(self, error):
        self.done.append("oom")

    def consolidate_optimizer(self):
        self.done.append("consolidate")

    def save_checkpoint(self, filename, extra_state):
        self.done.append("save")

    def zero_grad(self):
        self.done.append("zero_grad")

    def get_num_updates(self):
        return self.updates

    def get_lr(self):
        return 0.1

    def cumulative_training_time(self):
        return 61.26


def settings(folder="", rank=0, processes=1, no_save=False, amp=False, **task) -> SimpleNamespace:
    """A configuration."""
    return SimpleNamespace(
        rank=rank,
        processes=processes,
        checkpoint=SimpleNamespace(save_dir=str(folder), no_save=no_save, no_last_checkpoints=False),
        common=SimpleNamespace(seed=7, amp=amp),
        optimization=SimpleNamespace(max_update=10, stop_time_hours=0, max_epoch=0),
        lr_scheduler=SimpleNamespace(),
        task=SimpleNamespace(**task),
        model=SimpleNamespace(),
    )


def with_callbacks(light: type, folder="", **options):
    """A trainer like AlibertTrainer, over `light`."""
    spec = importlib.util.spec_from_file_location("light_alibert_trainer", alibert_fairseq.trainer.__file__)
    module = importlib.util.module_from_spec(spec)
    with patch.object(fairseq.trainer, "Trainer", light):
        spec.loader.exec_module(module)
    return module.AlibertTrainer(settings(folder, **options))
