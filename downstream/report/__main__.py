from alibert_common.errors import exit_with_sentence
from downstream.report import main

exit_with_sentence(main)
