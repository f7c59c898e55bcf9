"""The port: read-only, few threads, patient with nobody, gone after a stop."""

import socket
import threading
from contextlib import closing

import pytest

from perlica.domain.errors import Misconfigured
from tests.health.conftest import MakeSite, Site


def test_no_address_takes_a_write(site: Site) -> None:
    for address in ("/healthz", "/readyz", "/metrics", "/"):
        for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"):
            answer = site.get(address, method)

            assert answer.status_code == 405, (method, address)
            assert answer.headers["Allow"] == "GET, HEAD"


def test_head_says_what_get_would_without_saying_it(site: Site) -> None:
    head, get = site.get("/healthz", "HEAD"), site.get("/healthz")

    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["Content-Length"] == get.headers["Content-Length"]


def test_what_was_asked_for_is_never_repeated(site: Site) -> None:
    answer = site.get("/canary-of-a-request?token=canary-of-a-request")

    assert answer.status_code == 404
    assert "canary-of-a-request" not in answer.text
    assert "canary-of-a-request" not in site.get("/metrics").text


def test_silent_connections_do_not_keep_the_probes_waiting(site: Site) -> None:
    silent = [socket.create_connection(site.server.address) for _ in range(12)]
    try:
        for connection in silent[:3]:
            connection.sendall(b"GET /healthz")  # the rest never comes
        assert site.get("/healthz").status_code == 200
    finally:
        for connection in silent:
            connection.close()


def test_it_takes_no_more_threads_whatever_comes(site: Site) -> None:
    before = threading.active_count()
    for _ in range(20):
        site.get("/metrics")

    assert threading.active_count() == before
    ours = [thread for thread in threading.enumerate() if "health" in thread.name]
    assert len(ours) == 1


def test_an_address_that_is_taken_is_told_as_a_mistake_of_the_configuration(
    make_site: MakeSite,
) -> None:
    with (
        closing(socket.create_server(("127.0.0.1", 0))) as taken,
        pytest.raises(Misconfigured) as wrong,
    ):
        make_site(port=taken.getsockname()[1])

    assert wrong.value.code == "health_address"


def test_after_a_stop_nobody_answers(make_site: MakeSite) -> None:
    site = make_site()
    address = site.server.address
    assert site.server.stop()

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address)
