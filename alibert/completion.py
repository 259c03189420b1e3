"""Shell completion: a script that knows the verbs, and asks `alibert VERB --help` for the options of a verb."""

import argparse

from alibert import cli
from alibert_common.cli import program

OPTIONS = "grep -oE -- '--[a-z][a-z0-9-]+' | sort -u"
BASH = """_alibert() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} verb=${{COMP_WORDS[1]}}
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{verbs}" -- "$word"))
    elif [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "$(alibert "$verb" --help 2>/dev/null | {options})" -- "$word"))
    fi
}}
complete -o default -F _alibert alibert
"""
ZSH = "autoload -Uz compinit bashcompinit && compinit && bashcompinit\n" + BASH
FISH_VERB = "complete -c alibert -n __fish_use_subcommand -f -a {name} -d '{help}'\n"
FISH = """complete -c alibert -n 'string match -q -- "-*" (commandline -ct)' -f \\
    -a '(alibert (commandline -opc)[2] --help 2>/dev/null | {options})'
"""
INSTALL = """Print a script that completes verbs and options.

  bash: alibert completion bash >> ~/.bashrc
  zsh:  alibert completion zsh >> ~/.zshrc
  fish: alibert completion fish > ~/.config/fish/completions/alibert.fish"""


def script(shell: str) -> str:
    """Return the script for `bash`, `zsh` or `fish`."""
    if shell == "fish":
        verbs = [FISH_VERB.format(name=name, help=verb.help.replace("'", "")) for name, verb in cli.VERBS.items()]
        return "".join(verbs) + FISH.format(options=OPTIONS.replace("'", '"'))
    return {"bash": BASH, "zsh": ZSH}[shell].format(verbs=" ".join(cli.VERBS), options=OPTIONS)


def main(arguments: list[str]) -> None:
    """Run the verb `completion`."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(program("alibert completion"), description=INSTALL, formatter_class=raw)
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="your shell")
    print(script(parser.parse_args(arguments).shell), end="")
