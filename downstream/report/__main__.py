from downstream.files import exit_with_sentence
from downstream.report.command import main

exit_with_sentence(main)
