from downstream.evaluate.command import main
from downstream.files import exit_with_sentence

exit_with_sentence(main)
