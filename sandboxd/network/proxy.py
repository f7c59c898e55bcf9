"""The proxy of one sandbox: its socket lives in the sandbox's namespace, the daemon answers.

The sandbox has no interface but lo, so this socket is its whole world. One thread accepts, one for
each connection talks; both end with the sandbox. A line of audit tells of each connection; names
that are not on the allow-list are left out of it, because a name can carry content.
"""

import logging
import os
import socket
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass

from sandboxd import _native
from sandboxd.config import Egress
from sandboxd.faults import Busy, Fault, Refused, Retryable
from sandboxd.network.hello import MAX_HELLO_BYTES, server_name
from sandboxd.network.names import Names
from sandboxd.network.policy import Destination, check_name, find_destination
from sandboxd.network.relay import Account, UploadBudget, relay
from sandboxd.network.request import ProxyRequest, parse_request

PORT = 3128
_audit = logging.getLogger("sandboxd.egress")
_MAX_HEAD_BYTES = 32 * 1024
_HEAD_WITHIN_S = 15.0
_CONNECT_WITHIN_S = 10.0
_BACKLOG = 512
_WAITING = 256
"""Connections beyond the cap that wait for their turn; those behind them wait in the backlog."""
_STATUSES: tuple[tuple[type[Fault], str], ...] = (
    (Refused, "403 Forbidden"),
    (Busy, "503 Service Unavailable\r\nRetry-After: 5"),
    (Fault, "502 Bad Gateway"),
)
_ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"


def environment(host: str) -> dict[str, str]:
    """What tells programs where the proxy is, and which names are the sandbox `host` itself."""
    address = f"http://127.0.0.1:{PORT}"
    names = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
    direct = f"localhost,127.0.0.1,::1,0.0.0.0,{host}"
    return dict.fromkeys(names, address) | dict.fromkeys(("no_proxy", "NO_PROXY"), direct)


class EgressProxy:
    """Open from the start of a container to its end."""

    def __init__(self, egress: Egress, *, sandbox: str, init: int) -> None:
        """Listens in the namespaces of the process `init`. Raises: Retryable."""
        self._egress = egress
        self._sandbox = sandbox
        self._budget = UploadBudget(egress.upload_bytes_per_hour)
        self._free = threading.BoundedSemaphore(egress.connections)
        self._room = threading.BoundedSemaphore(egress.connections + _WAITING)
        self._names = Names()
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._waiting = 0
        self._is_closed = False
        self._listening = _listen_inside(init)
        threading.Thread(target=self._accept, name="egress", daemon=True).start()

    def close(self) -> None:
        """Ends the proxy and every connection."""
        with self._lock:
            self._is_closed = True
            for end in (self._listening, *self._open):
                _shut(end)
        self._listening.close()

    def _accept(self) -> None:
        while not self._is_closed:
            try:
                inner, _ = self._listening.accept()
            except OSError:
                return  # Closed with the sandbox.
            self._room.acquire()  # Each leaves in time: it is served, or told that it is not.
            threading.Thread(target=self._attend, args=(inner,), name="egress", daemon=True).start()

    def _attend(self, inner: socket.socket) -> None:
        try:
            with inner:
                self.keep(inner)
                is_free = self._wait_for_place()
                try:
                    self._serve(inner, is_free=is_free)
                finally:
                    if is_free:
                        self._free.release()
        except OSError:
            return  # The sandbox hung up.
        finally:
            self.forget(inner)
            self._room.release()

    def _wait_for_place(self) -> bool:
        if self._free.acquire(blocking=False):
            return True
        with self._lock:
            self._waiting += 1
        try:
            return self._free.acquire(timeout=self._egress.wait_s)
        finally:
            with self._lock:
                self._waiting -= 1

    def is_crowded(self) -> bool:
        """Whether somebody waits for a place."""
        return self._waiting > 0

    def _serve(self, inner: socket.socket, *, is_free: bool) -> None:
        connection = _Connection(
            proxy=self,
            egress=self._egress,
            sandbox=self._sandbox,
            budget=self._budget,
            names=self._names,
        )
        connection.serve(inner, is_free=is_free)

    def keep(self, end: socket.socket) -> None:
        """The connection ends with the proxy."""
        with self._lock:
            if self._is_closed:
                _shut(end)
            self._open.add(end)

    def forget(self, end: socket.socket) -> None:
        """The connection is over."""
        with self._lock:
            self._open.discard(end)


def _listen_inside(init: int) -> socket.socket:
    """A socket belongs to the namespace it was made in for ever; the thread ends in there."""
    made: Future[socket.socket] = Future()

    def make() -> None:
        try:
            namespace = os.open(f"/proc/{init}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            try:
                _native.setns(namespace, _native.CLONE_NEWNET)
            finally:
                os.close(namespace)
            listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
            listening.bind(("127.0.0.1", PORT))
            listening.listen(_BACKLOG)
            made.set_result(listening)
        except OSError as error:
            made.set_exception(error)

    thread = threading.Thread(target=make, name="egress-listen")
    thread.start()
    thread.join()
    try:
        return made.result()
    except OSError as error:
        raise Retryable(
            f"the way out of the sandbox could not be set up: {error.strerror}",
            remedy="run sandboxd doctor; the sandbox is not started without it",
        ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Connection:
    proxy: EgressProxy
    egress: Egress
    sandbox: str
    budget: UploadBudget
    names: Names

    def serve(self, inner: socket.socket, *, is_free: bool) -> None:
        """One request of the sandbox, from its first byte to its line of audit.

        One for which no place became free is read as well: a client hears only what comes after
        it has spoken.
        """
        began = time.monotonic()
        account = Account(
            upload_left=self.egress.upload_bytes,
            download_left=self.egress.download_bytes,
            budget=self.budget,
        )
        place, verdict = "-", "refused"
        try:
            raw, rest = _read_head(inner)
            request = parse_request(raw)
            check_name(self.egress, request.name, request.port)
            place = f"{request.name}:{request.port}"
            if not is_free:
                raise Busy("too many connections at once", remedy="try again")
            target = find_destination(
                self.egress, request.name, request.port, resolve=self.names.find
            )
            verdict = self._carry(inner, request=request, target=target, rest=rest, account=account)
        except Fault as fault:
            verdict = f"refused: {fault.message}"
            _answer(inner, fault)
        finally:
            _audit.info(
                "sandbox=%s to=%s end=%s up=%d down=%d ms=%d",
                *(self.sandbox, place, verdict.replace(" ", "-")),
                *(account.uploaded, account.downloaded),
                round((time.monotonic() - began) * 1000),
            )

    def _carry(
        self,
        inner: socket.socket,
        *,
        request: ProxyRequest,
        target: Destination,
        rest: bytes,
        account: Account,
    ) -> str:
        first = self._first_bytes(inner, request, rest)
        if request.body_bytes > account.upload_left or not account.upload(len(first)):
            raise Refused("more than a sandbox may send")
        with _connect(target) as outer:
            self.proxy.keep(outer)
            try:
                outer.settimeout(_CONNECT_WITHIN_S)
                outer.sendall(first)
                if not request.is_tunnel:
                    left = request.body_bytes - (len(first) - len(request.head))
                    _send_body(inner, outer, left, account)
                return relay(
                    inner,
                    outer,
                    account,
                    within_s=self.egress.connection_s,
                    silent_s=self.egress.silent_s,
                    one_way=not request.is_tunnel,
                    is_crowded=self.proxy.is_crowded,
                )
            finally:
                self.proxy.forget(outer)

    def _first_bytes(self, inner: socket.socket, request: ProxyRequest, rest: bytes) -> bytes:
        """What goes out first. Of a tunnel nothing goes out before the server's name is known."""
        if not request.is_tunnel:
            return request.head + rest[: request.body_bytes]
        inner.sendall(_ESTABLISHED)
        deadline = time.monotonic() + _HEAD_WITHIN_S
        rule = check_name(self.egress, request.name, request.port)
        may_encrypt = rule.encrypted_hello == "allow"
        while (name := server_name(rest, may_encrypt=may_encrypt)) is None:
            if len(rest) > MAX_HELLO_BYTES:
                raise Refused("the client's first message is too long")
            rest += _receive(inner, deadline)
        if name != request.name:
            raise Refused("the TLS server name is another than the allowed one")
        return rest


def _read_head(inner: socket.socket) -> tuple[bytes, bytes]:
    raw, deadline = b"", time.monotonic() + _HEAD_WITHIN_S
    while b"\r\n\r\n" not in raw:
        if len(raw) > _MAX_HEAD_BYTES:
            raise Refused("the head of the request is too long")
        raw += _receive(inner, deadline)
    head, end, rest = raw.partition(b"\r\n\r\n")
    return head + end, rest


def _receive(inner: socket.socket, deadline: float) -> bytes:
    inner.settimeout(max(0.001, deadline - time.monotonic()))
    try:
        taken = inner.recv(_MAX_HEAD_BYTES)
    except TimeoutError:
        raise Refused("the request did not come in time") from None
    if not taken:
        raise Refused("the request ended early")
    return taken


def _connect(target: Destination) -> socket.socket:
    """To a checked address and no other: the name is not resolved a second time."""
    for address in target.addresses:
        try:
            return socket.create_connection((address, target.port), timeout=_CONNECT_WITHIN_S)
        except OSError:
            continue
    raise Retryable("the server does not answer")


def _send_body(inner: socket.socket, outer: socket.socket, left: int, account: Account) -> None:
    """Exactly the announced bytes: what follows them would be a request that nobody checked."""
    deadline = time.monotonic() + _HEAD_WITHIN_S
    while left > 0:
        piece = _receive(inner, deadline)[:left]
        if not account.upload(len(piece)):
            raise Refused("more than a sandbox may send")
        outer.sendall(piece)
        left -= len(piece)
        deadline = time.monotonic() + _HEAD_WITHIN_S


def _answer(inner: socket.socket, fault: Fault) -> None:
    """Says why; in a tunnel that was opened already the client sees broken TLS and hangs up."""
    status = next(said for kind, said in _STATUSES if isinstance(fault, kind))
    body = f"sandboxd: {fault.message}\n".encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
    inner.settimeout(1)
    inner.sendall(f"{head}Connection: close\r\n\r\n".encode("ascii") + body)


def _shut(end: socket.socket) -> None:
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # Never connected, or over already.
