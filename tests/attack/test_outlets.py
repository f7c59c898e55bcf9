"""Console and health run inside the service, answer, and end with it."""

import socket
from pathlib import Path

import requests

from perlica.demo.model import ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from tests.behaviour.live import config_text, wait_until
from tests.recovery.process import service_process


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _status(url: str) -> int:
    try:
        return requests.get(url, timeout=5, allow_redirects=False).status_code
    except requests.ConnectionError:
        return 0


def test_a_running_service_is_ready_shows_metrics_and_asks_viewers_to_log_in(
    tmp_path: Path, napcat: NapCatStandIn, model: ScriptedModel
) -> None:
    health, console = (f"127.0.0.1:{_free_port()}" for _ in range(2))
    extra = f'[health]\nlisten = "{health}"\n[console]\nlisten = "{console}"\n'
    text = config_text(tmp_path, napcat, model.base_url, extra)
    with service_process(tmp_path, text) as service:
        service.start()
        napcat.wait_for_connection()
        wait_until(lambda: _status(f"http://{health}/readyz") == 200, what="never ready")

        metrics = requests.get(f"http://{health}/metrics", timeout=5).text
        page = requests.get(f"http://{console}/", timeout=5, allow_redirects=True)
        code = service.terminate()

    assert "perlica_info{" in metrics
    assert "password" in page.text or "token" in page.text.lower()
    assert code == 0
    assert _status(f"http://{health}/healthz") == 0
