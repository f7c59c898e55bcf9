"""The way out of a sandbox on a real node: what gets through, what never does, what is written."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandboxd import wire
from tests.sandboxd.authority import Authority
from tests.sandboxd.client import Answered, Box, Refusal
from tests.sandboxd.mirror import Mirror, Node, exchange, inside, run_inside, tunnel
from tests.sandboxd.process import Daemon, wait_for
from tests.sandboxd.test_egress_rules import hello_for

pytestmark = pytest.mark.root
UPLOAD_BYTES = 100_000


@pytest.fixture(scope="module")
def node(
    layout: Path, needs_node: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Node]:
    directory = tmp_path_factory.mktemp("egress")
    files = directory / "files"
    files.mkdir()
    (files / "hello").write_text("hello from outside")
    (files / "large").write_bytes(b"x" * 3_000_000)
    mirror = Mirror(files, Authority(directory / "authority"))
    daemon = Daemon(directory / "state", directory / "run")
    with daemon.config.open("a", encoding="utf-8") as file:
        file.write(
            '[egress]\ntest_only_addresses = ["127.0.0.1", "::1"]\n'
            f"upload_bytes = {UPLOAD_BYTES}\nconnections = 4\nwait_s = 0.5\n"
            'forbidden_networks = ["8.8.8.0/24"]\n'
            "[[egress.allow]]\n"
            f'name = "localhost"\nports = [{mirror.http_port}, {mirror.https_port}]\n'
        )
    imported = daemon.command("image", "import", str(layout))
    assert imported.returncode == 0, imported.stderr
    daemon.start()
    try:
        yield Node(daemon, mirror, files)
    finally:
        mirror.stop()
        daemon.stop()
        assert daemon.leftovers() == []


@pytest.fixture
def box(node: Node) -> Iterator[Box]:
    box = node.make_box()
    box.run("/bin/true")
    yield box
    box.delete()


def test_a_sandbox_with_network_none_has_no_proxy(node: Node) -> None:
    (held,) = node.client.images()
    box = Box(node.client, node.client.create("closed", held.digest))
    try:
        said = box.shell("nc -w 1 127.0.0.1 3128 < /dev/null; echo $?; env | grep -c -i proxy")
    finally:
        box.delete()

    assert said.stdout.split() == [b"1", b"0"]


def test_a_plain_request_from_the_sandbox_reaches_the_mirror(node: Node, box: Box) -> None:
    url = f"http://localhost:{node.mirror.http_port}/hello"

    said = box.says(f"no_proxy= wget -q -O - {url}; echo; env | grep -c _proxy=http")

    assert said == "hello from outside\n2"


def test_a_tunnel_to_the_allowed_name_carries_tls_to_its_end(node: Node, box: Box) -> None:
    url = f"https://localhost:{node.mirror.https_port}/large"

    done = run_inside(
        node, box, "curl", "-sS", "--fail", "--cacert", str(node.mirror.authority), url
    )

    assert done.returncode == 0, done.stderr
    assert len(done.stdout) == 3_000_000
    assert f"to=localhost:{node.mirror.https_port} end=closed" in node.audit()[-1]


@pytest.mark.parametrize(
    "request_of",
    [
        lambda port: tunnel(port, "elsewhere.example"),
        lambda port: tunnel(port, "127.0.0.1"),
        lambda port: tunnel(22),
        lambda port: b"GET http://127.0.0.1/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        lambda port: b"GET http://169.254.169.254/latest HTTP/1.1\r\nHost: 169.254.169.254\r\n\r\n",
        lambda port: f"GET http://localhost:{port}/ HTTP/1.1\r\nHost: evil\r\n\r\n".encode(),
        lambda port: b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        lambda port: b"x" * 40_000,
    ],
)
def test_what_is_not_allowed_gets_403_and_reaches_nobody(
    node: Node, box: Box, request_of: Callable[[int], bytes]
) -> None:
    before = node.mirror.reached

    answer = inside(node, box, lambda: exchange(request_of(node.mirror.http_port)))

    assert answer.startswith(b"HTTP/1.1 403 ") or answer == b""
    assert node.mirror.reached == before


@pytest.mark.parametrize(
    "first",
    [
        hello_for("other.example"),
        hello_for(None),
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"SSH-2.0-OpenSSH_9\r\n",
    ],
)
def test_a_tunnel_is_for_tls_to_the_allowed_name_alone(node: Node, box: Box, first: bytes) -> None:
    before = node.mirror.reached

    answer = inside(node, box, lambda: exchange(tunnel(node.mirror.https_port) + first))

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"\r\n\r\n\x16\x03" not in answer
    assert node.mirror.reached == before


def test_names_are_never_resolved_by_the_sandbox(box: Box) -> None:
    said = box.shell("nslookup localhost 127.0.0.1; nslookup mirror.example 8.8.8.8; echo over")

    assert said.stdout.endswith(b"over\n")
    assert b"Address: 127.0.0.1\n" not in said.stdout
    assert b"mirror.example\nAddress" not in said.stdout


def test_an_upload_stops_at_its_cap(node: Node, box: Box) -> None:
    address = f"localhost:{node.mirror.http_port}"

    def post(size: int) -> bytes:
        head = f"POST http://{address}/up HTTP/1.1\r\nHost: {address}\r\nContent-Length: {size}"
        return exchange(head.encode() + b"\r\nProxy-Authorization: secret\r\n\r\n" + b"x" * size)

    small, large = inside(node, box, lambda: (post(50_000), post(UPLOAD_BYTES + 1)))

    assert small.endswith(b"/up 50000 None")
    assert large.startswith(b"HTTP/1.1 403 ")
    assert b"more than a sandbox may send" in large


def test_an_upload_through_a_tunnel_stops_at_its_cap(node: Node, box: Box) -> None:
    (node.files / "upload").write_bytes(os.urandom(400_000))
    url = f"https://localhost:{node.mirror.https_port}/up"

    done = run_inside(
        *(node, box, "curl", "-sS", "--cacert", str(node.mirror.authority)),
        *("--data-binary", f"@{node.files}/upload", url),
    )

    assert done.returncode != 0
    assert "400000" not in done.stdout
    assert "end=upload-cap" in node.audit()[-1]


def test_what_follows_an_announced_body_is_never_sent(node: Node, box: Box) -> None:
    address = f"localhost:{node.mirror.http_port}"
    first = f"GET http://{address}/hello HTTP/1.1\r\nHost: {address}\r\n\r\n".encode()
    smuggled = b"GET /large HTTP/1.1\r\nHost: evil\r\n\r\n"

    answer = inside(node, box, lambda: exchange(first + smuggled))

    assert answer.endswith(b"hello from outside")


def test_a_connection_above_the_cap_is_told_so_and_free_again_afterwards(
    node: Node, box: Box
) -> None:
    def crowd() -> bytes:
        held = [socket.create_connection(("127.0.0.1", 3128), timeout=10) for _ in range(4)]
        wait_for(lambda: False, within_s=0.2)
        try:
            return exchange(tunnel(node.mirror.https_port))
        finally:
            for connection in held:
                connection.close()

    refused = inside(node, box, crowd)
    url = f"http://localhost:{node.mirror.http_port}/hello"
    again = wait_for(
        lambda: box.shell(f"no_proxy= wget -q -O - {url}").stdout == b"hello from outside",
        within_s=10,
    )

    assert refused.startswith(b"HTTP/1.1 503 ")
    assert b"Retry-After: " in refused
    assert any("end=refused:-too-many-connections-at-once" in line for line in node.audit())
    assert again


def test_every_connection_has_a_line_of_audit_that_names_only_what_is_allowed(
    node: Node, box: Box
) -> None:
    before = len(node.audit())
    inside(node, box, lambda: exchange(tunnel(443, "canary-secret.evil.example")))
    inside(node, box, lambda: exchange(tunnel(node.mirror.https_port) + hello_for("x.example")))

    assert wait_for(lambda: len(node.audit()) == before + 2, within_s=5)
    lines = node.audit()[before:]
    assert "sandbox=box to=- end=refused:-this-name-and-port-are-not-on-the-allow-list" in lines[0]
    assert f"to=localhost:{node.mirror.https_port} end=refused" in lines[1]
    assert "canary-secret" not in node.daemon.log.read_text("utf-8")


def test_the_proxy_is_there_again_after_a_stop_and_after_kill_nine(node: Node, box: Box) -> None:
    url = f"http://localhost:{node.mirror.http_port}/hello"
    box.stop()
    after_stop = box.says(f"no_proxy= wget -q -O - {url}")
    node.daemon.kill()
    node.daemon.start()

    after_kill = box.says(f"no_proxy= wget -q -O - {url}")

    assert after_stop == after_kill == "hello from outside"


def test_two_sandboxes_have_each_their_own_way_out(node: Node, box: Box) -> None:
    other = node.make_box("other")
    url = f"http://localhost:{node.mirror.http_port}/hello"
    try:
        box.stop()
        said = other.says(f"no_proxy= wget -q -O - {url}")
    finally:
        other.delete()

    assert said == "hello from outside"
    assert "sandbox=other" in node.audit()[-1]


def test_a_sandbox_does_not_start_when_its_way_out_cannot_be_set_up(
    node: Node, box: Box, refusal: Refusal
) -> None:
    config = node.daemon.config.read_text("utf-8")
    node.daemon.stop()
    without = config[: config.index("[egress]")] + "\n"
    node.daemon.config.write_text(without, "utf-8")
    node.daemon.start()
    try:
        answer = refusal(lambda: box.run("/bin/true"))
        state = box.state()
        (held,) = node.client.images()
        new = refusal(lambda: node.client.create("new", held.digest, network="egress"))
    finally:
        node.daemon.stop()
        node.daemon.config.write_text(config, "utf-8")
        node.daemon.start()

    assert (answer.error, state.state, state.network) == ("refused", "stopped", "egress")
    assert new.error == "refused"
    assert "gives sandboxes no network" in new.message


def test_curl_cannot_follow_a_redirect_to_a_name_that_is_not_allowed(node: Node, box: Box) -> None:
    done = run_inside(
        *(node, box, "curl", "-sS", "--connect-to", "evil.example:443:localhost:1"),
        "https://evil.example/",
    )

    assert done.returncode != 0
    assert "403" in done.stderr


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_clones_through_the_proxy(node: Node, box: Box, tmp_path: Path) -> None:
    origin = node.files / "origin"
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    for words in (
        ("init", "-q", str(origin)),
        ("-C", str(origin), *identity, "commit", "-q", "--allow-empty", "-m", "first"),
        ("clone", "-q", "--bare", str(origin), str(node.files / "origin.git")),
        ("-C", str(node.files / "origin.git"), "update-server-info"),
    ):
        subprocess.run(["git", *words], check=True, timeout=30)
    url = f"https://localhost:{node.mirror.https_port}/origin.git"

    done = run_inside(
        *(node, box, "git", "clone", "-q", url, str(tmp_path / "clone")),
        GIT_SSL_CAINFO=str(node.mirror.authority),
    )

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "clone/.git").is_dir()


def test_pip_downloads_through_the_proxy(node: Node, box: Box, tmp_path: Path) -> None:
    index = node.files / "simple" / "demo"
    index.mkdir(parents=True)
    wheel = "demo-1.0-py3-none-any.whl"
    _write_wheel(index / wheel)
    (index / "index.html").write_text(f'<a href="{wheel}">{wheel}</a>')
    url = f"https://localhost:{node.mirror.https_port}/simple"

    done = run_inside(
        *(node, box, "env", "-u", "REQUESTS_CA_BUNDLE", "-u", "CURL_CA_BUNDLE"),
        *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"),
        *("--isolated", "--proxy", "http://127.0.0.1:3128", "--cert", str(node.mirror.authority)),
        *("--no-cache-dir", "--index-url", url, "--dest", str(tmp_path), "demo"),
    )

    assert done.returncode == 0, done.stderr
    assert (tmp_path / wheel).exists()


def _write_wheel(path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("demo.py", "")
        text = "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n"
        archive.writestr("demo-1.0.dist-info/METADATA", text)
        archive.writestr("demo-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("demo-1.0.dist-info/RECORD", "")


@pytest.mark.skipif(shutil.which("apt-get") is None, reason="apt is not installed")
def test_apt_reads_a_repository_through_the_proxy(node: Node, box: Box, tmp_path: Path) -> None:
    (node.files / "apt").mkdir()
    package = "Package: demo\nVersion: 1\nArchitecture: all\nFilename: ./demo.deb\nSize: 1\n"
    (node.files / "apt/Packages").write_text(package + f"SHA256: {'0' * 64}\n")
    url = f"http://localhost:{node.mirror.http_port}/apt"
    sources = tmp_path / "sources.list"
    sources.write_text(f"deb [trusted=yes] {url} ./\n")
    (tmp_path / "lists/partial").mkdir(parents=True)
    settings = {
        "Dir::Etc::SourceList": sources,
        "Dir::Etc::SourceParts": "-",
        "Dir::State::Lists": tmp_path / "lists",
        "Dir::Cache": tmp_path,
        "APT::Sandbox::User": "root",
        "Acquire::http::Proxy": "http://127.0.0.1:3128",
        "Acquire::Languages": "none",
        "Acquire::GzipIndexes": "false",
    }
    options = [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]

    done = run_inside(node, box, "apt-get", *options, "update")

    assert done.returncode == 0, done.stderr
    (index,) = (tmp_path / "lists").glob("*Packages*")
    assert "Package: demo" in index.read_text()


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_npm_asks_its_registry_through_the_proxy(node: Node, box: Box, tmp_path: Path) -> None:
    (node.files / "npm").mkdir()
    version = {"name": "demo", "version": "1.2.3", "dist": {"tarball": "x", "shasum": "0" * 40}}
    document = {"name": "demo", "dist-tags": {"latest": "1.2.3"}, "versions": {"1.2.3": version}}
    (node.files / "npm/demo").write_text(json.dumps(document))
    url = f"https://localhost:{node.mirror.https_port}/npm/"

    done = run_inside(
        *(node, box, "npm", "view", "demo", "version", "--registry", url),
        *("--cafile", str(node.mirror.authority), "--https-proxy", "http://127.0.0.1:3128"),
        *("--cache", str(tmp_path), "--noproxy", "none", "--fetch-retries", "0"),
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "1.2.3"


def test_the_wire_takes_no_third_kind_of_network(node: Node) -> None:
    (held,) = node.client.images()

    with pytest.raises((ValueError, Answered)):
        node.client.create("box", held.digest, network="host")

    assert wire.CreateRequest.model_fields["network"].default == "none"
