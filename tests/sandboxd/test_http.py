"""The door: closed models, bounded bodies, known peers, errors without content."""

import json
import os
import socket
import stat
from pathlib import Path

import pytest

from sandboxd import wire
from tests.sandboxd.client import Box, Client, new_id
from tests.sandboxd.process import Daemon

pytestmark = pytest.mark.root


def error_of(raw: bytes) -> wire.ErrorAnswer:
    return wire.ErrorAnswer.model_validate_json(raw)


def test_health_tells_version_epoch_and_facts(client: Client, daemon: Daemon) -> None:
    health = client.health()

    assert health.protocol == wire.PROTOCOL_VERSION
    assert health.node == "test-node"
    assert health.facts.kernel == os.uname().release
    assert health.facts.runtime == "crun"
    assert health.facts.outputs_survive_restart


def test_images_tell_digest_checksum_and_size(client: Client, daemon: Daemon) -> None:
    (held,) = [h for h in client.images() if h.reference == "perlica-demo:1"]

    squashfs = daemon.state / "images" / f"{held.digest.removeprefix('sha256:')}.squashfs"
    assert held.size_bytes == squashfs.stat().st_size
    assert len(held.squashfs_sha256) == 64


def test_the_socket_is_closed_to_others(daemon: Daemon) -> None:
    found = daemon.socket.stat()

    assert stat.S_IMODE(found.st_mode) == 0o660
    assert found.st_uid == os.getuid()


def test_a_user_who_is_not_listed_is_refused(daemon: Daemon) -> None:
    daemon.socket.chmod(0o666)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        status, raw = Client(daemon.socket).send("GET", wire.HEALTH_PATH)
        os.write(writer, json.dumps([status, raw.decode()]).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        status, raw = json.loads(answer.read())
    os.waitpid(child, 0)
    daemon.socket.chmod(0o660)

    assert status == 409
    assert "user 65534" in error_of(raw.encode()).message


def test_a_header_cannot_pretend_to_be_another_user(daemon: Daemon) -> None:
    raw = b"GET /v1/health HTTP/1.1\r\nHost: x\r\nX-Remote-Uid: 0\r\nX_REMOTE_UID: 99\r\n\r\n"
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(5)
        connection.connect(str(daemon.socket))
        connection.sendall(raw)

        answer = connection.recv(4096)

    assert answer.startswith(b"HTTP/1.1 200")


def test_unknown_fields_are_refused_by_name_and_values_are_not_repeated(
    client: Client, box: Box
) -> None:
    body = {
        "operation": new_id(),
        "epoch": client.epoch,
        "instance": box.instance,
        "argv": ["/bin/true"],
        "sh": "secret-value",
        "cwd": "secret-value",
    }

    status, raw = client.send("POST", wire.exec_path("box"), json.dumps(body).encode())

    assert status == 409
    assert b"sh" in raw
    assert b"cwd" in raw
    assert b"secret-value" not in raw


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"operation": 1}'])
def test_a_body_that_is_no_request_is_refused(client: Client, body: bytes) -> None:
    status, raw = client.send("POST", wire.SANDBOXES_PATH, body)

    assert status == 409
    assert error_of(raw).error == "refused"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", "/v1/nothing"),
        ("PUT", wire.HEALTH_PATH),
        ("GET", "/v1/sandboxes/../health"),
        ("GET", "/v1/sandboxes/UPPER"),
        ("GET", "/v1/operations/short"),
    ],
)
def test_an_unknown_address_is_not_found(client: Client, method: str, path: str) -> None:
    status, raw = client.send(method, path)

    assert status == 404
    assert error_of(raw).error == "not_found"


def test_a_body_without_a_length_or_beyond_the_limit_is_not_read(daemon: Daemon) -> None:
    answers = []
    for header in (b"Transfer-Encoding: chunked", b"Content-Length: 999999999"):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(5)
            connection.connect(str(daemon.socket))
            connection.sendall(b"POST /v1/sandboxes HTTP/1.1\r\nHost: x\r\n" + header + b"\r\n\r\n")
            if b"chunked" in header:
                connection.sendall(b"0\r\n\r\n")
            answers.append(connection.recv(4096).split(b"\r\n")[0])

    assert answers[0].split()[1] == b"409"
    assert answers[1].split()[1] == b"413"


def test_a_silent_connection_does_not_keep_others_waiting(daemon: Daemon, client: Client) -> None:
    silent = [socket.socket(socket.AF_UNIX) for _ in range(20)]
    for connection in silent:
        connection.connect(str(daemon.socket))

    health = client.health()
    for connection in silent:
        connection.close()

    assert health.protocol == wire.PROTOCOL_VERSION


def test_the_daemon_uses_little_memory(daemon: Daemon, box: Box) -> None:
    box.run("/bin/true")

    status = Path(f"/proc/{daemon.pid}/status").read_text("ascii")
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    assert int(resident.split()[1]) < 60 * 1024
