"""Real clients at the way out of a sandbox: npm with a large tree, and Chromium's made-up hello."""

import base64
import hashlib
import http.server
import io
import json
import shutil
import socket
import ssl
import tarfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.sandboxd.authority import Authority
from tests.sandboxd.client import Box
from tests.sandboxd.mirror import Mirror, Node, inside, run_inside
from tests.sandboxd.process import Daemon, wait_for

pytestmark = pytest.mark.root
PACKAGES = 300
CONNECTIONS = 8


class Registry:
    """An npm registry of made-up packages that depend on each other, over TLS with keep-alive."""

    def __init__(self, authority: Authority) -> None:
        self.connections = 0
        self._packages = dict(self._make(number) for number in range(PACKAGES))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*authority.issue("localhost"))
        registry = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                status, body = registry.answer(self.path)
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 256

            def get_request(self) -> tuple[Any, Any]:
                connection, address = super().get_request()
                registry.connections += 1
                wrapped = context.wrap_socket(
                    connection, server_side=True, do_handshake_on_connect=False
                )
                return wrapped, address

            def handle_error(self, request: object, client_address: object) -> None:
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port: int = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def _make(self, number: int) -> tuple[str, tuple[dict[str, object], bytes]]:
        name = f"demo-{number}"
        children = [n for n in (2 * number + 1, 2 * number + 2) if n < PACKAGES]
        needs = {f"demo-{child}": "1.0.0" for child in children}
        manifest: dict[str, object] = {"name": name, "version": "1.0.0", "dependencies": needs}
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            for path, content in (
                ("package/package.json", json.dumps(manifest).encode()),
                ("package/index.js", b"module.exports = 1;\n" * 500),
            ):
                entry = tarfile.TarInfo(path)
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
        raw = packed.getvalue()
        digest = base64.b64encode(hashlib.sha512(raw).digest()).decode()
        return name, (manifest | {"dist": {"integrity": f"sha512-{digest}"}}, raw)

    def answer(self, path: str) -> tuple[int, bytes]:
        name = path.strip("/").split("/")[0].removesuffix(".tgz")
        if name not in self._packages:
            return 404, b"{}"
        manifest, raw = self._packages[name]
        if path.endswith(".tgz"):
            return 200, raw
        dist = dict(manifest["dist"])  # type: ignore[call-overload]
        dist["tarball"] = f"https://localhost:{self.port}/{name}.tgz"
        version = manifest | {"dist": dist}
        document = {"name": name, "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}
        return 200, json.dumps(document).encode()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority") / "authority")


@pytest.fixture(scope="module")
def registry(authority: Authority) -> Iterator[Registry]:
    made = Registry(authority)
    yield made
    made.stop()


@pytest.fixture(scope="module")
def node(
    layout: Path,
    needs_node: None,
    authority: Authority,
    registry: Registry,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Node]:
    directory = tmp_path_factory.mktemp("crowds")
    files = directory / "files"
    files.mkdir()
    (files / "page.html").write_text("<title>seen</title><p>hello from outside</p>")
    mirror = Mirror(files, authority)
    daemon = Daemon(directory / "state", directory / "run")
    with daemon.config.open("a", encoding="utf-8") as file:
        file.write(
            '[egress]\ntest_only_addresses = ["127.0.0.1", "::1"]\n'
            f"connections = {CONNECTIONS}\nsilent_s = 10\n"
            f'[[egress.allow]]\nname = "localhost"\nports = [{registry.port}]\n'
            f'[[egress.allow]]\nname = "localhost"\nports = [{mirror.https_port}]\n'
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


@pytest.mark.timeout(180)
@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_npm_installs_a_tree_of_hundreds_of_packages_through_a_proxy_with_few_places(
    node: Node, box: Box, registry: Registry, authority: Authority, tmp_path: Path
) -> None:
    (tmp_path / "package.json").write_text('{"dependencies": {"demo-0": "1.0.0"}}')
    url = f"https://localhost:{registry.port}/"
    words = (
        *("npm", "install", "--prefix", str(tmp_path), "--registry", url, "--no-audit"),
        *("--cafile", str(authority.file), "--https-proxy", "http://127.0.0.1:3128"),
        *("--cache", str(tmp_path / "cache"), "--noproxy", "none", "--fetch-retries", "0"),
        *("--maxsockets", "20", "--no-fund", "--loglevel", "error"),
    )

    done = run_inside(node, box, *words, within_s=150)

    installed = list((tmp_path / "node_modules").glob("demo-*"))
    assert done.returncode == 0, done.stderr
    assert len(installed) == PACKAGES
    assert registry.connections > CONNECTIONS


POLICY = (
    'mount -t tmpfs none /etc/chromium && mkdir -p /etc/chromium/policies/managed && echo "$1" '
    '> /etc/chromium/policies/managed/hello.json && shift && exec chromium "$@"'
)


def chromium(node: Node, box: Box, profile: Path, *, policy: str = "{}") -> str:
    """What a headless browser with a managed policy shows of the mirror's page."""
    return run_inside(
        *(node, box, "unshare", "-m", "sh", "-c", POLICY, "sh", policy),
        *("--headless=new", "--no-sandbox", "--disable-gpu", "--ignore-certificate-errors"),
        *("--proxy-server=http://127.0.0.1:3128", "--proxy-bypass-list=<-loopback>"),
        *(f"--user-data-dir={profile}", "--disable-dev-shm-usage", "--no-first-run"),
        *("--dump-dom", f"https://localhost:{node.mirror.https_port}/page.html"),
    ).stdout


def says_it_may_hide(node: Node) -> bool:
    return any("may-hide-the-server's-name" in line for line in node.audit())


@pytest.mark.timeout(150)
@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_chromiums_made_up_hello_is_refused_until_the_browser_is_told_to_leave_it_out(
    node: Node, box: Box, tmp_path: Path
) -> None:
    as_it_comes = chromium(node, box, tmp_path / "one")
    refused = wait_for(lambda: says_it_may_hide(node), within_s=5)

    told = chromium(node, box, tmp_path / "two", policy='{"EncryptedClientHelloEnabled": false}')

    assert "hello from outside" not in as_it_comes
    assert refused
    assert "hello from outside" in told


@pytest.mark.timeout(150)
@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_chromium_as_it_comes_reaches_a_server_whose_rule_allows_its_hello(
    node: Node, box: Box, tmp_path: Path
) -> None:
    config = node.daemon.config.read_text("utf-8")
    node.daemon.stop()
    node.daemon.config.write_text(config + 'encrypted_hello = "allow"\n', "utf-8")
    node.daemon.start()
    try:
        box.run("/bin/true")
        shown = chromium(node, box, tmp_path / "profile")
    finally:
        node.daemon.stop()
        node.daemon.config.write_text(config, "utf-8")
        node.daemon.start()

    assert "hello from outside" in shown


def test_forty_clients_at_once_all_get_an_answer(node: Node, box: Box) -> None:
    head = f"CONNECT localhost:{node.mirror.https_port} HTTP/1.1\r\n\r\n".encode()

    def answer_at(end: socket.socket) -> bytes:
        with end:
            return end.recv(100).split(b"\r\n")[0]

    def crowd() -> list[bytes]:
        ends = [socket.create_connection(("127.0.0.1", 3128), timeout=25) for _ in range(40)]
        for end in ends:
            end.sendall(head)
        with ThreadPoolExecutor(len(ends)) as readers:
            return list(readers.map(answer_at, ends))

    answers = inside(node, box, crowd)

    assert answers == [b"HTTP/1.1 200 Connection established"] * 40
