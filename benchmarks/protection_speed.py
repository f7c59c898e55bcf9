"""What content protection costs: a long log, chat messages, hostile lines, import and memory.

Processor time of one thread throughout, so that other work on the machine counts as little as it
can.
"""

import random
import statistics
import string
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from types import ModuleType

from benchmarks import _corpus
from perlica.protection import Channel, protect

_LOG_MB = 10
_CHAT_ROUNDS = 300
_LONG_ROUNDS = 40
_HOSTILE_BYTES = 200_000
_HOSTILE = (
    "password", " ", "a", '"', "\\", "%25", "key=", "://", "-----BEGIN RSA PRIVATE KEY-----\n",
)  # fmt: skip
_IMPORT = """
import time
from pathlib import Path

def resident_kib():
    return int(Path("/proc/self/status").read_text().split("VmRSS:")[1].split()[0])

before, began = resident_kib(), time.process_time()
import perlica.protection
took = time.process_time() - began
print(took, (resident_kib() - before) / 1024)
"""
Row = dict[str, object]


def rows() -> list[Row]:
    """Speed on a log and on messages, the worst hostile line, the cost of the import."""
    corpus = _corpus.load("corpusgen.__main__")
    return [*_corpus_rows(corpus), _worst_hostile_line(), *_import_rows()]


def _corpus_rows(corpus: ModuleType | None) -> list[Row]:
    if corpus is None:
        names = ("protection_log_mb_per_s", "protection_chat_p99_ms", "protection_64_kib_p99_ms")
        return [{"name": name, "why": _corpus.WHY_NOT} for name in names]
    log = corpus.speed_log(corpus.DEV, 1, _LOG_MB)
    return [_log_row(log), _chat_row(log), _long_row(log)]


def _log_row(log: str) -> Row:
    took_s = _cpu_s(lambda: protect(log, Channel.TOOL_RESULT))
    value = len(log.encode()) / 1e6 / took_s
    return _row("protection_log_mb_per_s", value, "MB/s", target=8.3, met=value >= 8.3)


def _chat_row(log: str) -> Row:
    dice = random.Random(1)  # noqa: S311 - which stretches are taken
    starts = [dice.randrange(len(log) - 2000) for _ in range(_CHAT_ROUNDS)]
    messages = [_at_most(log[start : start + 2000], 2048) for start in starts]
    value = _p99_ms(messages)
    return _row("protection_chat_p99_ms", value, "ms", target=2, met=value <= 2)


def _long_row(log: str) -> Row:
    starts = range(0, _LONG_ROUNDS * 65_536, 65_536)
    value = _p99_ms([_at_most(log[start : start + 65_536], 65_536) for start in starts])
    return _row("protection_64_kib_p99_ms", value, "ms", target=25, met=value <= 25)


def _worst_hostile_line() -> Row:
    dice = random.Random(2)  # noqa: S311 - noise
    noise = "".join(dice.choices(string.ascii_letters, k=_HOSTILE_BYTES))
    lines = [(piece * _HOSTILE_BYTES)[:_HOSTILE_BYTES] for piece in _HOSTILE] + [noise]
    value = max(_finished_ms(line) for line in lines)
    return _row("protection_hostile_worst_ms", value, "ms", target=100, met=value <= 100)


def _finished_ms(line: str) -> float:
    """Return the time for a line that was scanned to its end; one that was withheld in time costs
    none.
    """
    began = time.thread_time()
    protected = protect(line, Channel.MESSAGE)
    took_ms = (time.thread_time() - began) * 1000
    return took_ms if protected.is_usable else 0.0


def _import_rows() -> list[Row]:
    command = [sys.executable, "-c", _IMPORT]
    pairs = [
        [
            float(word)
            for word in subprocess.run(command, check=True, capture_output=True).stdout.split()
        ]
        for _ in range(5)
    ]
    took_s = statistics.median(pair[0] for pair in pairs)
    grew_mib = statistics.median(pair[1] for pair in pairs)
    return [
        _row("protection_import_s", took_s, "s", target=0.2, met=took_s <= 0.2),
        _row("protection_memory_mib", grew_mib, "MiB", target=30, met=grew_mib <= 30),
    ]


def _p99_ms(texts: list[str]) -> float:
    protect(texts[0], Channel.MESSAGE)
    took = sorted(_cpu_s(partial(protect, text, Channel.MESSAGE)) for text in texts)
    return took[min(len(took) - 1, int(len(took) * 0.99))] * 1000


def _cpu_s(work: Callable[[], object]) -> float:
    began = time.thread_time()
    work()
    return time.thread_time() - began


def _at_most(text: str, size: int) -> str:
    return text.encode()[:size].decode(errors="ignore")


def _row(name: str, value: float, unit: str, *, target: float, met: bool) -> Row:
    return {
        "name": name,
        "value": round(value, 4),
        "unit": unit,
        "peer_or_floor": target,
        "ratio": round(value / target, 3),
        "target": target,
        "met": met,
    }
