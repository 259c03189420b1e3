from alibert_common.errors import exit_with_sentence
from downstream.evaluate.command import main

exit_with_sentence(main)
