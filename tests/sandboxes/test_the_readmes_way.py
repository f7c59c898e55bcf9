"""The README's way from a checkout to real sandboxes on one machine, pasted as it stands.

It runs in a mount namespace in which /etc, /run and the places of both programs are private; what
it writes is gone afterwards. Only the gate itself is not waited for (it takes ten minutes, and has
tests of its own): a report of this very node, as the gate would write it, takes its place.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from perlica.clients.sandboxd import SandboxdClient, SandboxdSettings
from perlica.demo.model import RehearsalModel
from perlica.demo.napcat import NapCatStandIn
from tests.behaviour.live import wait_until
from tests.frame.checkout import ROOT, read_tree_file
from tests.gate.conftest import facts, write_report
from tests.sandboxd.conftest import needs_node
from tests.sandboxes.test_gate_joined import facts_of

__all__ = ["facts", "needs_node", "write_report"]

pytestmark = [pytest.mark.root, pytest.mark.timeout(240)]
READMES = ("README.md", "README.zh-CN.md")
WITHIN_S = 90.0
TOKEN = "a-long-napcat-token-for-this-test"
KEY = "a-long-model-key-for-this-test"
_BLOCK = re.compile(r"```sh\n(.*?)```", re.DOTALL)
_PRIVATE = """\
set -eu
lay_over() {{
    mkdir -p {own}$1/up {own}$1/work
    mount -t overlay overlay -o lowerdir=$1,upperdir={own}$1/up,workdir={own}$1/work $1
}}
lay_over /etc
mount -t tmpfs -o mode=0755 tmpfs /run
lay_over /var/lib
lay_over /var/log
mkdir -p /var/lib/sandboxd {own}/sandboxd
mount --bind {own}/sandboxd /var/lib/sandboxd
for closed in {closed}; do lay_over $closed; chmod a+x $closed; done
"""
_FILL_IN = """\
sed -i 's|^group_id = 0|group_id = {group}|; s|^self_id = 0|self_id = {account}|
s|^owners = .0.|owners = [{owner}]|; s|^url = .*|url = "{napcat}"|
s|^base_url = .*|base_url = "{model}"|; s|^name = .*|name = "rehearsal-1"|
' /etc/perlica/perlica.toml
echo {token} > /etc/perlica/secrets/napcat-token
echo {key} > /etc/perlica/secrets/model-key
"""
_REPORT = """\
until test -e {own}/report; do sleep 0.1; done
install -m 0644 "$(cat {own}/report)" /etc/perlica/gate-report.json
"""


def _blocks(readme: str) -> tuple[str, str, str]:
    """The three blocks: set up a user, look, switch sandboxes on."""
    found = [block for block in _BLOCK.findall(read_tree_file(readme)) if "perlica" in block]
    (user,) = (block for block in found if block.startswith("useradd"))
    (look,) = (block for block in found if "check-config" in block)
    (sandboxes,) = (block for block in found if "image import" in block)
    return user, look, sandboxes


def _closed_above(program: Path) -> list[str]:
    """Directories that the service's user could not pass, where Python lies in somebody's home."""
    above = [path for path in program.resolve().parents if not path.stat().st_mode & 0o001]
    return [str(path) for path in above]


def _script(readme: str, own: Path, values: dict[str, str]) -> str:
    """The README's own lines, but for the gate's run and the service that stays in front.

    A doctor may warn (exit code 1): the machine of the tests need not keep time, for example.
    """
    user, look, sandboxes = _blocks(readme)
    run = re.compile(r"^runuser -u perlica -- .venv/bin/perlica run$", re.MULTILINE)
    gate = re.compile(r"^.venv/bin/sandboxd .* gate --full --reports (\S+)$", re.MULTILINE)
    started = re.compile(r"^until test -S .*$", re.MULTILINE)
    assert run.search(look)
    assert gate.search(sandboxes)
    instead = r"install -d \1 && echo '{}' > \1/report.json"
    switched = gate.sub(instead, sandboxes)
    switched = started.sub(lambda line: f"{line[0]}\n{_REPORT.format(own=own)}", switched)
    switched = switched.replace("serve > ", f"serve 2>&1 & echo $! > {own}/pid; : > ")
    doctor = re.compile(r"^(runuser .* doctor(?: --lang \w+)?)", re.MULTILINE)
    first = re.compile(r"^(.venv/bin/sandboxd .* doctor(?: --lang \w+)?)", re.MULTILINE)
    look = doctor.sub(r"\1 || test $? -eq 1", run.sub("", look))
    switched = first.sub(r"\1 || test $? -eq 1", switched)
    switched = doctor.sub(rf"(\1) > {own}/doctor 2>&1 || test $? -eq 1", switched)
    closed = " ".join(_closed_above(Path(sys.executable)))
    return "\n".join(
        [
            _PRIVATE.format(own=own, closed=closed),
            user,
            _FILL_IN.format(**values),
            look,
            run.sub(f"exec runuser -u perlica -- {ROOT}/.venv/bin/perlica run", switched),
        ]
    )


@pytest.fixture
def napcat() -> Iterator[NapCatStandIn]:
    with NapCatStandIn(token=TOKEN) as stand_in:
        yield stand_in


@pytest.fixture
def model() -> Iterator[RehearsalModel]:
    with RehearsalModel(api_key=KEY) as served:
        yield served


def test_both_readmes_lead_the_same_way() -> None:
    english, chinese = (
        [
            re.sub(r"(--lang \w+|#.*|introduction = .*)", "", line).rstrip()
            for block in _blocks(readme)
            for line in block.splitlines()
        ]
        for readme in READMES
    )

    assert english == chinese


def test_the_readmes_lines_lead_to_a_command_in_a_real_sandbox(
    needs_node: None,
    napcat: NapCatStandIn,
    model: RehearsalModel,
    write_report: Callable[..., Path],
    tmp_path: Path,
) -> None:
    owner = napcat.kernel.account.groups[0].members
    values = {
        "group": str(napcat.group_id),
        "account": str(napcat.self_id),
        "owner": str(next(m.user_id for m in owner if m.standing == "owner")),
        "napcat": napcat.url,
        "model": model.base_url,
        "token": shlex.quote(TOKEN),
        "key": shlex.quote(KEY),
    }
    log = tmp_path / "log"
    script = _script("README.md", tmp_path, values)
    with log.open("wb") as said:
        process = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "bash", "-c", script],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
        )
    try:
        _write_report_of_the_node(process, tmp_path, write_report, log)
        wait_until(
            lambda: _goes_on(process, log) and bool(napcat.connections),
            WITHIN_S,
            "the service connects",
        )

        made = _ask(napcat, int(values["owner"]), "创建沙箱 box")
        answer = _ask(napcat, int(values["owner"]), "运行 `echo abc | rev`")

        assert "成功" in made
        assert "cba" in answer
        assert "✓ sandboxd" in (tmp_path / "doctor").read_text("utf-8")
    finally:
        _end(process, tmp_path)


def _write_report_of_the_node(
    process: subprocess.Popen[bytes],
    own: Path,
    write_report: Callable[..., Path],
    log: Path,
) -> None:
    socket = Path(f"/proc/{process.pid}/root/run/sandboxd/sandboxd.sock")
    wait_until(
        lambda: _goes_on(process, log) and socket.exists(), WITHIN_S, "sandboxd makes its socket"
    )
    client = SandboxdClient(SandboxdSettings(socket_path=socket, epoch=0))
    (own / "report").write_text(str(write_report(turned=facts_of(client))))


def _goes_on(process: subprocess.Popen[bytes], log: Path) -> bool:
    assert process.poll() is None, log.read_text("utf-8", "replace")[-3000:]
    return True


def _ask(napcat: NapCatStandIn, owner: int, text: str) -> str:
    asked = napcat.say(owner, text, mention=True)
    return napcat.wait_for_reply(
        lambda m: "【Perlica 回答" in m.text or "任务 T-" in m.text, WITHIN_S, after=asked
    ).text


def _end(process: subprocess.Popen[bytes], own: Path) -> None:
    """The service first, then the daemon, each in order; the mounts end with the last of them."""
    process.terminate()
    process.wait(WITHIN_S)
    daemon = own / "pid"
    if daemon.exists():
        pid = int(daemon.read_text())
        os.kill(pid, 15)
        wait_until(lambda: not _lives(pid), WITHIN_S, "sandboxd ends")


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(") ")[2]
    except OSError:
        return False
    return not state.startswith(("Z", "X"))
