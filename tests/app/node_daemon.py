"""The two answers of a node daemon that the doctor asks for, over a real Unix socket."""

import http.server
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sandboxd import wire


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


@contextmanager
def answering_daemon(path: Path, *, node: str, digests: tuple[str, ...]) -> Iterator[None]:
    """A daemon called `node` that holds these images."""
    health = wire.HealthReport(
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
    images = wire.ImageList(
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
    answers = {wire.HEALTH_PATH: health, wire.IMAGES_PATH: images}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = answers[self.path].model_dump_json().encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

        def address_string(self) -> str:
            return "unix"

    with _Server(str(path), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()
