"""How an executed operation ended, in words: what failed is called failed, wherever it is read.

Made from the facts that an operation's row keeps of its outcome. The state of a row alone does not
tell: rows of earlier versions call every command that ran to its end `succeeded`.
"""

import signal
from collections.abc import Mapping
from typing import Final

from perlica.domain.operation import OperationState
from perlica.domain.texts.language import Language, Text

Facts = Mapping[str, object]

_ENDED: Final = frozenset({OperationState.succeeded, OperationState.failed})
_FAILED: Final = Text(zh="失败（{how}）", en="failed ({how})")
_EXIT: Final = Text(zh="退出码 {code}", en="exit code {code}")
_OUT_OF_MEMORY: Final = Text(zh="，内存不足", en=", out of memory")
_ENDINGS: Final[Mapping[str, Text]] = {
    "timed_out": Text(zh="超时中止", en="stopped at its time limit"),
    "signalled": Text(zh="被信号{which}中止", en="ended by a signal{which}"),
    "cancelled": Text(zh="已被中止", en="stopped"),
    "failed_to_start": Text(zh="没能启动", en="could not start"),
}
_WHICH: Final = Text(zh=" {name} ", en=" ({name})")
_MEMORY_BESIDE: Final = Text(
    zh="成功，但其间有进程因内存不足被杀",
    en="done, but a process was killed meanwhile: out of memory",
)


def did_fail(state: str, facts: Facts) -> bool:
    """Whether it was done and did not succeed; a command succeeds with exit code 0 alone."""
    if state not in _ENDED:
        return False
    if state == OperationState.failed:
        return True
    ended = facts.get("ended")
    return (isinstance(ended, str) and ended != "exited") or facts.get("exit_code") not in {None, 0}


def say_ending(state: str, facts: Facts, language: Language) -> str:
    """How it ended, such as `失败（退出码 3）`; "" where the state's own word says it all."""
    if state not in _ENDED:
        return ""
    memory = facts.get("out_of_memory") is True
    if not did_fail(state, facts):
        return _MEMORY_BESIDE.say(language) if memory else ""
    how = _say_how(facts, language)
    if not how:
        return ""
    return _FAILED.say(language, how=how + (_OUT_OF_MEMORY.say(language) if memory else ""))


def _say_how(facts: Facts, language: Language) -> str:
    code, ending = facts.get("exit_code"), _ENDINGS.get(str(facts.get("ended")))
    if ending is not None:
        return ending.say(language, which=_say_signal(facts.get("signal"), language))
    return _EXIT.say(language, code=code) if isinstance(code, int) and code else ""


def _say_signal(number: object, language: Language) -> str:
    """A signal with its name: `9（SIGKILL）` says more than a number alone."""
    if not isinstance(number, int):
        return ""
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = str(number)
    return _WHICH.say(language, name=name)
