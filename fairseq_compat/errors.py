"""What an option or a file is refused with, and what to do about a file that is not written."""

import errno

AGAIN = 75  # EX_TEMPFAIL of sysexits.h: the same command resumes
REMEDIES = {  # of a file that is not written
    errno.ENOSPC: "make room",
    errno.EDQUOT: "make room in your quota",
    errno.EFBIG: "raise the limit for the size of files (`ulimit -f`)",
    errno.EROFS: "make the file system writable",
    errno.EACCES: "make the folder writable",
    errno.EPERM: "make the folder writable",
    errno.ENOENT: "restore the folder, which was removed or renamed",
    errno.ENOTDIR: "move away the file that stands in place of a folder",
    errno.EEXIST: "move away the file that stands in place of a folder",
    errno.EISDIR: "move away the folder that has this name",
}


class Refusal(ValueError):
    """An option or a file that fairseq cannot be given here. The message is one sentence with the remedy."""


def remedy_of(error: OSError) -> str:
    """What to do about a file that is not written."""
    return REMEDIES.get(error.errno or 0, "check the disk or its file server")
