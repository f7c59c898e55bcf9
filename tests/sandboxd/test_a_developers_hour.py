"""An hour of a developer in a sandbox of a real Debian, played once from its beginning to its end.

What comes through the way out, from where this machine gets it too: lists and packages of apt, one
package of pip, one of npm. What the image brings: Python, git, Node.js, PostgreSQL, tmux, sudo.
"""

import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandboxd import wire
from tests.sandboxd import client as client_module
from tests.sandboxd.client import Box, Client
from tests.sandboxd.debian import (
    Registries,
    Unreachable,
    build_root,
    egress_of,
    find_registries,
    find_sources,
    require,
    write_debian_layout,
)
from tests.sandboxd.process import Daemon

pytestmark = [pytest.mark.root, pytest.mark.timeout(900)]
GIB = 1024**3
PYTHON_PACKAGE = "iniconfig"
NODE_PACKAGE = "is-number"
AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
PROJECT = {
    "app.py": """
import http.server, subprocess
def rows():
    words = ("psql", "-h", "/var/run/postgresql", "-U", "postgres", "-tAc", "SELECT sum(n) FROM t")
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = rows().encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)
if __name__ == "__main__":
    print("serving", flush=True)
    http.server.ThreadingHTTPServer(("", 80), Handler).serve_forever()
""",
    "test_app.py": """
import urllib.request, socket, iniconfig, pytest
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", socket.gethostname()])
def test_the_sum_is_served(host):
    assert urllib.request.urlopen(f"http://{host}/", timeout=5).read() == b"5050"
def test_a_temporary_directory(tmp_path):
    (tmp_path / "x").write_text("y")
""",
}


@pytest.fixture(scope="module")
def registries() -> Registries:
    for program in ("mmdebstrap", "npm", "apt-get"):
        require(shutil.which(program), f"{program} is not installed")
    try:
        return find_registries(PYTHON_PACKAGE)
    except Unreachable as error:
        require(False, str(error))
        raise


@pytest.fixture(scope="module")
def node(
    registries: Registries, needs_node: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Daemon]:
    place = tmp_path_factory.mktemp("hour")
    try:
        write_debian_layout(place / "layout", build_root())
    except Unreachable as error:
        require(False, str(error))
    run = Path("/dev/shm") / f"sbx-{uuid.uuid4().hex[:8]}"
    run.mkdir()
    daemon = Daemon(place / "state", run)
    try:
        yield from _running(daemon, place, registries)
    finally:
        shutil.rmtree(run)


def _running(daemon: Daemon, place: Path, registries: Registries) -> Iterator[Daemon]:
    with daemon.config.open("a", encoding="utf-8") as file:
        file.write(egress_of(find_sources(), registries))
    imported = daemon.command("image", "import", str(place / "layout"), within_s=600)
    assert imported.returncode == 0, imported.stderr
    shutil.rmtree(place / "layout")
    daemon.start()
    try:
        yield daemon
    finally:
        daemon.stop()
    assert daemon.leftovers() == []


@pytest.fixture
def box(node: Daemon, monkeypatch: pytest.MonkeyPatch) -> Iterator[Box]:
    monkeypatch.setattr(client_module, "WITHIN_S", 300.0)
    client = Client(node.socket)
    limits = {"memory_bytes": GIB, "disk_bytes": 2 * GIB, "pids": 512, "cpu_millis": 2000}
    (held,) = client.images()
    box = Box(client, client.create("debian", held.digest, limits=limits, network="egress"))
    yield box
    box.delete()


def do(box: Box, script: str, *, within_s: int = 120) -> str:
    """stdout of a script of bash that must succeed."""
    outcome = box.run("/bin/bash", "-ec", script, timeout_ms=within_s * 1000)
    assert (outcome.ended, outcome.exit_code) == ("exited", 0), (
        script,
        outcome.ended,
        outcome.stdout[-1500:].decode("utf-8", "replace"),
        outcome.stderr[-1500:].decode("utf-8", "replace"),
    )
    return outcome.stdout.decode("utf-8").strip()


def test_a_developers_hour(node: Daemon, box: Box, registries: Registries) -> None:
    look_around(box)
    install_with_apt(box)
    install_with_pip_and_npm(box, registries)
    start_the_database(box)
    serve_and_test(box)
    end_what_hangs(box)
    work_with_git(box)
    use_terminals(box)
    come_back_tomorrow(box)
    assert "end=refused" not in node.log.read_text("utf-8")


def look_around(box: Box) -> None:
    assert do(box, "pwd; echo $HOME; whoami; hostname").split() == [
        *("/root", "/root", "root", "debian")
    ]
    assert do(box, "getent hosts localhost debian | awk '{print $NF}'").split()[-1] == "debian"
    missing = box.run("pyhton3", "--version")
    assert (missing.ended, missing.stderr) == ("failed_to_start", b"pyhton3: not found in PATH\n")


def install_with_apt(box: Box) -> None:
    do(box, "apt-get -q update && apt-get -q install -y --no-install-recommends tree", within_s=200)

    assert "directories" in do(box, "tree /srv")
    assert do(box, "dpkg-query -W -f '${db:Status-Status}' tree") == "installed"


def install_with_pip_and_npm(box: Box, registries: Registries) -> None:
    box.write(str(AUTHORITIES), AUTHORITIES.read_bytes())
    index = f"--index-url {registries.python}"
    do(box, f"pip install -q --break-system-packages {index} --force-reinstall {PYTHON_PACKAGE}")
    do(box, f"mkdir -p /srv/web; npm config set cafile {AUTHORITIES}; cd /srv/web; npm init -y")
    do(box, f"cd /srv/web; npm install --no-audit --registry {registries.node} {NODE_PACKAGE}")

    where = do(box, f"python3 -c 'import {PYTHON_PACKAGE} as m; print(m.__file__)'")
    assert where.startswith("/usr/local/lib/python3")
    asked = f'cd /srv/web; node -p \'require("{NODE_PACKAGE}")("7")\''
    assert do(box, asked) == "true"


def start_the_database(box: Box) -> None:
    do(box, "sed -i 's/^local .*/local all all trust/' /etc/postgresql/*/main/pg_hba.conf")
    do(box, "service postgresql start")
    do(box, "su postgres -c \"psql -qc 'CREATE TABLE t AS SELECT generate_series(1, 100) n'\"")

    assert do(box, "psql -U postgres -tAc 'SELECT sum(n) FROM t'") == "5050"


def serve_and_test(box: Box) -> None:
    for name, text in PROJECT.items():
        box.write(f"/srv/app/{name}", text.encode(), create_parents=True)
    do(box, f"cd /srv/app; python3 app.py & {until('curl -sf http://localhost/')}")

    assert "4 passed" in do(box, "cd /srv/app && python3 -m pytest -q -p no:cacheprovider")


def until(command: str) -> str:
    """Tries again and again, for half a minute at most."""
    return f"timeout 30 bash -c 'until {command}; do :; done'"


def end_what_hangs(box: Box) -> None:
    hung = box.run("/bin/bash", "-c", "(setsid sleep 9001 &); sleep 9001", timeout_ms=1000)

    assert hung.ended == "timed_out"
    assert do(box, "curl -sf http://debian/") == "5050"
    assert do(box, "psql -U postgres -tAc 'SELECT count(*) FROM t'") == "100"
    assert do(box, "pgrep -xc sleep || true") == "0"


def work_with_git(box: Box) -> None:
    do(box, "git config --global user.email d@example.org; git config --global user.name D")
    do(box, "cd /srv/app; git init -q .; install -m 755 /dev/null .git/hooks/pre-commit")
    box.write("/srv/app/.git/hooks/pre-commit", b"#!/bin/sh\necho hooked > /tmp/hooked\n")
    do(box, "cd /srv/app; git add .; git commit -qm first")
    do(box, "git daemon --base-path=/srv --export-all &")
    do(box, until("git clone -q git://localhost/app /tmp/copy"))

    assert do(box, "cat /tmp/hooked") == "hooked"
    assert do(box, "git -C /tmp/copy log --format=%s") == "first"


def use_terminals(box: Box) -> None:
    assert do(box, "script -qc 'tty; stty size >/dev/null && echo size' /dev/null").split() == [
        *("/dev/pts/0", "size")
    ]
    do(box, "tmux new-session -d -s work 'tty > /tmp/tty; exec cat'")
    do(box, f"{until('test -s /tmp/tty')}; tmux has-session -t work")
    assert do(box, "cat /tmp/tty").startswith("/dev/pts/")
    assert do(box, "useradd -m dev; sudo -u dev sh -c 'echo $HOME; whoami'").split() == [
        *("/home/dev", "dev")
    ]
    uid = int(do(box, "id -u dev"))
    mine = box.run("/bin/sh", "-c", "cd; pwd; touch mine", user={"uid": uid, "gid": uid})
    assert mine.stdout == b"/home/dev\n"


def come_back_tomorrow(box: Box) -> None:
    before = do(box, "cat /etc/hosts; sha256sum /usr/bin/tree")
    box.stop()

    assert do(box, "cat /etc/hosts; sha256sum /usr/bin/tree") == before
    do(box, "service postgresql start")
    assert do(box, "psql -U postgres -tAc 'SELECT sum(n) FROM t'") == "5050"
    assert wire.SandboxState.model_validate(box.state()).state == "ready"
