"""The batches that fairseq makes of a task's samples."""


def batches(task, epoch=1, split="train", **options):
    """fairseq's batches of one epoch."""
    options = {"max_sentences": 4, "seed": 5, **options}
    return task.get_batch_iterator(task.dataset(split), epoch=epoch, **options)


def release(iterator) -> None:
    """End the workers now: fairseq has the iterator in a cycle, and when that is collected torch waits 5 s for each."""
    iterator.batch_sampler.ordered_batches = None
