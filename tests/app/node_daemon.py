"""The two answers of a node daemon that the doctor asks for, over a real Unix socket."""

import http.server
import socketserver
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel

from sandboxd import wire


class _Handler(http.server.BaseHTTPRequestHandler):
    answers: ClassVar[Mapping[str, BaseModel]]

    def do_GET(self) -> None:
        body = self.answers[self.path].model_dump_json().encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return

    def address_string(self) -> str:
        return "unix"


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


def _health(node: str) -> wire.HealthReport:
    return wire.HealthReport(
        protocol=wire.PROTOCOL_VERSION,
        version="0.1.0",
        node=node,
        started_at_ms=0,
        epoch=0,
        facts=wire.NodeFacts(
            kernel="6.18",
            runtime="crun",
            runtime_version="1.8.1",
            cgroup_mode="v2",
            idmapped_layers=True,
            layers_by_descriptor=True,
            outputs_survive_restart=True,
        ),
        counts=wire.NodeCounts(
            images=1, sandboxes=0, ready=0, running_operations=0, unacknowledged_operations=0
        ),
    )


def _images(digests: Iterable[str]) -> wire.ImageList:
    return wire.ImageList(
        images=tuple(
            wire.HeldImage(
                digest=wire.ImageDigest(digest),
                reference="local/demo",
                squashfs_sha256="0" * 64,
                size_bytes=1,
                imported_at_ms=0,
            )
            for digest in digests
        )
    )


def _handler(answers: Mapping[str, BaseModel]) -> type[_Handler]:
    return type("Handler", (_Handler,), {"answers": answers})


@contextmanager
def answering_daemon(path: Path, *, node: str, digests: tuple[str, ...]) -> Iterator[None]:
    """A daemon called `node` that holds these images."""
    answers = {wire.HEALTH_PATH: _health(node), wire.IMAGES_PATH: _images(digests)}
    with _Server(str(path), _handler(answers)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()
