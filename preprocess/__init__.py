"""From raw French biomedical text to a data-bin that fairseq trains on. Imports neither torch nor fairseq."""

from alibert_common import __version__ as __version__
