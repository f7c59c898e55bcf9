"""The log says which NapCat is away, why, and when it is tried again."""

import logging
import socket

import pytest

from perlica.clients.napcat.listen import ListenTransport
from perlica.demo.napcat import NapCatStandIn
from tests.napcat.rig import LinkRig, eventually, settings_for


def test_a_napcat_that_is_away_is_named_with_the_time_of_the_next_try(
    napcat: NapCatStandIn, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    settings = settings_for(napcat, url=f"ws://127.0.0.1:{port}")

    with LinkRig(settings):
        told = eventually(lambda: [r for r in caplog.records if hasattr(r, "retry_in_s")])

    assert vars(told[0])["address"] == f"127.0.0.1:{port}"
    assert vars(told[0])["fault"] == "napcat_connect"
    assert 0 <= vars(told[0])["retry_in_s"] <= settings.backoff_cap_s
    assert told[0].levelno == logging.WARNING


def test_a_service_that_waits_for_napcat_says_where(
    napcat: NapCatStandIn, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    settings = settings_for(napcat, url=f"ws://127.0.0.1:{port}", reverse=True)

    with LinkRig(settings, transport=ListenTransport(settings)):
        told = eventually(
            lambda: [r for r in caplog.records if r.message == "waiting for napcat to connect"]
        )

    assert vars(told[0])["address"] == f"127.0.0.1:{port}"
