"""`hermes sessions completions`: what bash, zsh and fish offer when you press Tab.

Made from the verbs and their real arguments. The scripts ask `hermes sessions list --json` for
nothing; completing must never wait for a database.
"""

from __future__ import annotations

import argparse

from hermes_store.records.sources import KNOWN
from hermes_tui.cli.common.context import Context, add_options
from hermes_tui.cli.verbs import VERBS, load


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `completions`."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))
    parser.epilog = (
        "examples:\n"
        "bash  hermes sessions completions bash >> ~/.bash_completion\n"
        'zsh   hermes sessions completions zsh > "${fpath[1]}/_hermes"\n'
        "fish  hermes sessions completions fish > ~/.config/fish/completions/hermes.fish"
    )


def run(options: argparse.Namespace, context: Context) -> int:
    """Print the completion script of a shell."""
    makers = {"bash": _bash, "zsh": _zsh, "fish": _fish}
    context.printer.line(makers[options.shell]().rstrip())
    return 0


def flags_of(name: str) -> list[tuple[str, str]]:
    """Return the long flags of a verb and what they do."""
    parser = argparse.ArgumentParser(prog=name, add_help=False)
    load(name).describe(parser)
    add_options(parser, reports=VERBS[name].reports)
    return [
        (flag, (action.help or "").replace("'", ""))
        for action in parser._actions
        for flag in action.option_strings
        if flag.startswith("--")
    ]


def _bash() -> str:
    cases = "\n".join(
        f"        {name}) words='{' '.join(flag for flag, _ in flags_of(name))}' ;;"
        for name in VERBS
    )
    return f"""# bash completion for hermes sessions
_hermes_sessions() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" words=''
    if [ "$COMP_CWORD" -eq 1 ]; then
        words='sessions insights --continue --resume --version --help'
    elif [ "${{COMP_WORDS[1]}}" != sessions ]; then
        return
    elif [ "$previous" = --source ]; then
        words='{" ".join(KNOWN)}'
    elif [ "$COMP_CWORD" -eq 2 ]; then
        words='{" ".join(VERBS)}'
    else
        case "${{COMP_WORDS[2]}}" in
{cases}
        esac
    fi
    COMPREPLY=( $(compgen -W "$words" -- "$current") )
}}
complete -o default -F _hermes_sessions hermes hermes-sessions
"""


def _zsh() -> str:
    verbs = "\n".join(f"        '{name}:{verb.about}'" for name, verb in VERBS.items())
    cases = "\n".join(
        f"        {name}) _arguments "
        + " ".join(f"'{flag}[{about}]'" for flag, about in flags_of(name))
        + " '*:file:_files' ;;"
        for name in VERBS
    )
    return f"""#compdef hermes hermes-sessions
_hermes() {{
    local -a verbs
    verbs=(
{verbs}
    )
    if (( CURRENT == 2 )); then
        _values command sessions insights --continue --resume --version --help
    elif [[ $words[2] != sessions ]]; then
        _files
    elif (( CURRENT == 3 )); then
        _describe verb verbs
    else
        case $words[3] in
{cases}
        esac
    fi
}}
_hermes "$@"
"""


def _fish() -> str:
    lines = [
        "# fish completion for hermes sessions",
        "complete -c hermes -n __fish_use_subcommand -a sessions -d 'everything about sessions'",
        "complete -c hermes -n __fish_use_subcommand -a insights -d 'tokens, costs and habits'",
    ]
    inside = "__fish_seen_subcommand_from sessions"
    for name, verb in VERBS.items():
        lines.append(f"complete -c hermes -n '{inside}' -f -a {name} -d '{verb.about}'")
        lines += [
            f"complete -c hermes -n '__fish_seen_subcommand_from {name}' -l {flag[2:]} -d '{about}'"
            for flag, about in flags_of(name)
        ]
    return "\n".join(lines)
