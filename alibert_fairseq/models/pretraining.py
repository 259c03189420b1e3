"""What the models of every objective share as fairseq models."""

from fairseq.models import BaseFairseqModel


class PretrainingModel(BaseFairseqModel):
    """A model that is built from its configuration and the task's dictionary. A subclass sets `cfg`."""

    @classmethod
    def build_model(cls, cfg, task):
        """Build for the task; sizes that do not fit each other end the run in one sentence."""
        try:
            if task.max_positions() > cfg.max_positions:
                raise ValueError(
                    f"--tokens-per-sample {task.max_positions()} is more than --max-positions {cfg.max_positions}; "
                    f"raise the one or lower the other."
                )
            return cls(cfg, task.source_dictionary)
        except ValueError as error:
            raise SystemExit(f"error: {error}") from None

    def max_positions(self) -> int:
        """Longest sequence, special tokens included."""
        return self.cfg.max_positions
