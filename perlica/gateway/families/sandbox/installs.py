"""Does a command install dependencies? Then it is planned as `dependency.install`.

Pure. Nothing but the announcement hangs on the answer: what may be reached is the node's matter
(its egress lists), so a command that hides what it does gains nothing but to stay Low. That is why
words of a shell are taken apart with the standard library: `shlex` knows quotes and operators, and
what it cannot know (here-documents for a shell, programs that start others, scripts in files) stays
`sandbox.exec`. Full parsers were looked at: bashlex is GPL-3, tree-sitter-bash brings a native
part; neither would see into a script file either.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from perlica.gateway.families.sandbox.install_tools import DRY, PYTHON_MODULES, TOOLS, InstallTool

_SHELLS: Final = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "busybox"})
_PYTHON: Final = re.compile(r"(python|pypy)[0-9.]*")
_VERSIONED: Final = re.compile(r"(pip|pipx|gem|npm|go|cpan)[0-9.]+|(pip)-[0-9.]+")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_OPERATORS: Final = ";&|()<>`\n"
_KEYWORDS: Final = frozenset("if then else elif do while until ! { } time coproc".split())
_HERE_DOCUMENT: Final = re.compile(r"<<-?[ \t]*(['\"]?)([A-Za-z_][A-Za-z0-9_]*)\1")
_WRAPPERS: Final[dict[str, frozenset[str]]] = {
    "builtin": frozenset(),
    "chronic": frozenset(),
    "command": frozenset(),
    "doas": frozenset({"-u", "-C"}),
    "env": frozenset({"-u", "--unset", "-C", "--chdir"}),
    "eatmydata": frozenset(),
    "exec": frozenset({"-a"}),
    "ionice": frozenset({"-c", "-n", "-p"}),
    "nice": frozenset({"-n", "--adjustment"}),
    "nohup": frozenset(),
    "setsid": frozenset(),
    "stdbuf": frozenset({"-i", "-o", "-e"}),
    "sudo": frozenset({"-u", "-g", "-h", "-p", "-C", "-r", "-t", "-D", "-R"}),
    "time": frozenset({"-f", "-o"}),
    "timeout": frozenset({"-k", "--kill-after", "-s", "--signal"}),
    "xargs": frozenset("-a -d -E -I -L -n -P -s".split()),
}
"""Programs that run the command behind their own options; the options that take a value."""
_DEEPEST: Final = 4
_MOST_CODE_POINTS: Final = 200_000


def find_installs(argv: Sequence[str], stdin: str = "") -> tuple[str, ...]:
    """The tools with which this command installs, each once, in order; () where none is seen."""
    return tuple(dict.fromkeys(_in_command(list(argv), stdin, 0)))


def _in_command(words: list[str], stdin: str, depth: int) -> Iterator[str]:
    """The tools of one simple command, also inside a shell that it starts."""
    words = _without_prefix(words)
    if not words or depth > _DEEPEST:
        return
    name, rest = _base_name(words[0]), words[1:]
    if name == "eval":
        yield from _in_script(" ".join(rest), depth + 1)
    elif name in _SHELLS:
        yield from _in_shell(name, rest, stdin, depth)
    elif name in {"su", "runuser"}:
        script = _value_of(rest, "c")
        yield from _in_script(script or "", depth + 1)
    elif _PYTHON.fullmatch(name):
        yield from _in_python(rest)
    elif name in TOOLS and _installs(TOOLS[name], rest):
        yield name


def _in_shell(name: str, rest: list[str], stdin: str, depth: int) -> Iterator[str]:
    if name == "busybox":
        yield from _in_command(rest, stdin, depth + 1)
        return
    script = _value_of(rest, "c")
    if script is None and all(word.startswith("-") for word in rest):
        script = stdin
    yield from _in_script(script or "", depth + 1)


def _in_python(rest: list[str]) -> Iterator[str]:
    """`python -m pip …`, also behind options such as `-I` or `-X utf8`."""
    if "-m" not in rest:
        return
    at = rest.index("-m")
    module = rest[at + 1] if at + 1 < len(rest) else ""
    is_an_option = all(
        word.startswith("-") or rest[i - 1] in {"-X", "-W"} for i, word in enumerate(rest[:at])
    )
    if is_an_option and module in PYTHON_MODULES and _installs(TOOLS[module], rest[at + 2 :]):
        yield module


def _in_script(script: str, depth: int) -> Iterator[str]:
    """The tools of every simple command of a shell script."""
    if depth > _DEEPEST or len(script) > _MOST_CODE_POINTS:
        return
    for words in _simple_commands(script):
        yield from _in_command(words, "", depth)


def _simple_commands(script: str) -> list[list[str]]:
    """The words of each simple command; none where the quotes do not close."""
    joined = re.sub(r"\\\r?\n", " ", _without_here_documents(script))
    lexer = shlex.shlex(joined, posix=True, punctuation_chars=_OPERATORS)
    lexer.whitespace, lexer.commenters, lexer.whitespace_split = " \t\r", "", True
    try:
        tokens = list(lexer)
    except ValueError:
        return []
    commands: list[list[str]] = [[]]
    is_comment = skips_target = False
    for token in tokens:
        is_operator = bool(token) and set(token) <= set(_OPERATORS)
        if is_operator and "\n" in token:
            is_comment = False
        if is_comment or (skips_target and not is_operator):
            skips_target = False
            continue
        skips_target = is_operator and bool({"<", ">"} & set(token)) and "(" not in token
        is_comment = token.startswith("#")
        if is_operator and not skips_target:
            commands.append([])
        elif not is_operator and not is_comment:
            commands[-1].append(token)
    return [words for words in commands if words]


def _without_here_documents(script: str) -> str:
    """The script without the bodies of its here-documents: they are text, not commands."""
    kept: list[str] = []
    waiting: list[str] = []
    for line in script.split("\n"):
        if waiting:
            if line.strip() == waiting[0]:
                waiting.pop(0)
            continue
        waiting = [found.group(2) for found in _HERE_DOCUMENT.finditer(line)]
        kept.append(line)
    return "\n".join(kept)


def _without_prefix(words: list[str]) -> list[str]:
    """The command behind keywords, assignments and programs that only run another one."""
    while words:
        name = _base_name(words[0])
        if words[0] in _KEYWORDS or _ASSIGNMENT.match(words[0]):
            words = words[1:]
        elif name in _WRAPPERS and len(words) > 1:
            words = _without_options(words[1:], _WRAPPERS[name])
            if name == "timeout":
                words = words[1:]
        else:
            return words
    return []


def _without_options(words: list[str], valued: frozenset[str]) -> list[str]:
    """What stands behind the options at the beginning."""
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in valued else words[1:]
    return words


def _installs(tool: InstallTool, rest: list[str]) -> bool:
    """Whether these words after a tool's name install something."""
    if not DRY.isdisjoint(rest) or not tool.dry.isdisjoint(rest):
        return False
    plain = _plain_words(rest, tool.valued)
    if tool.any_words or (tool.bare and not plain):
        return tool.bare or bool(plain)
    first = rest[0] if rest else ""
    return bool({first, *plain[:1], " ".join(plain[:2])} & tool.verbs)


def _plain_words(rest: list[str], valued: frozenset[str]) -> list[str]:
    """The words that are no options and no values of options; `+toolchain` is one too."""
    plain: list[str] = []
    is_value = False
    for word in rest:
        if not is_value and not word.startswith(("-", "+")):
            plain.append(word)
        is_value = not is_value and word in valued
    return plain


def _value_of(words: list[str], letter: str) -> str | None:
    """The word behind the first cluster of short options that holds this letter (`-c`, `-lc`)."""
    for at, word in enumerate(words[:-1]):
        if re.fullmatch(rf"-[A-Za-z]*{letter}[A-Za-z]*", word):
            return words[at + 1]
    return None


def _base_name(word: str) -> str:
    """The program's name without its folder and without a version: `/usr/bin/pip3.12` is pip."""
    name = word.rsplit("/", 1)[-1].removesuffix(".exe")
    versioned = _VERSIONED.fullmatch(name)
    return (versioned.group(1) or versioned.group(2)) if versioned else name
