"""`perlica console`: tokens for viewers, and the console by itself."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from click.testing import CliRunner, Result

from perlica.app.cli import main
from perlica.app.config import load_config
from perlica.app.console import console_settings
from perlica.app.layout import database_path
from perlica.app.secrets import read_secrets
from perlica.console import Health
from perlica.domain.texts import Language
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from perlica.stores.viewers import ViewerStore, digest_token
from tests.app.configs import SANDBOX, write_config, write_private
from tests.console.people import wait_until
from tests.console.seeder import make_database


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A configuration whose database has one viewer."""
    path = write_config(tmp_path, '[console]\nlisten = "127.0.0.1:8450"\n')
    make_database(database_path(tmp_path / "state"))
    return path


def perlica(config: Path, *words: str) -> Result:
    return CliRunner().invoke(main, ["console", *words, "--config", str(config)])


def test_a_token_is_printed_once_alone_and_works(config: Path, tmp_path: Path) -> None:
    made = perlica(config, "token", "add", "阿杰", "--days", "7")

    token = made.stdout.strip()
    assert made.exit_code == 0
    assert token.startswith("perlica-viewer-")
    assert len(token) > 50
    assert "not shown again" in made.stderr
    with Database.open(database_path(tmp_path / "state"), read_only=True) as db:
        viewer = ViewerStore(db).find_by_token(digest_token(token))
        (event,) = AuditStore(db).list_events(limit=9, kind="console.token_added")
    assert viewer is not None
    assert viewer.name == "阿杰"
    assert viewer.expires_at_ms - viewer.created_at_ms == 7 * 86_400_000
    assert event.actor == "operator"
    assert token not in event.detail.content


def test_tokens_are_listed_and_revoked(config: Path) -> None:
    perlica(config, "token", "add", "阿杰")
    revoked = perlica(config, "token", "revoke", "阿杰")
    listed = perlica(config, "token", "list")
    for_programs = json.loads(perlica(config, "token", "list", "--json").stdout)

    assert (revoked.exit_code, revoked.stdout) == (0, "阿杰: revoked\n")
    assert "小明: living" in listed.stdout
    assert "阿杰: revoked" in listed.stdout
    assert [entry["state"] for entry in for_programs] == ["living", "revoked"]
    assert "digest" not in json.dumps(for_programs)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("token", "add", "小明"), "revoke it first"),
        (("token", "revoke", "nobody"), "no viewer called nobody"),
        (("token", "add", "a\nb"), "a viewer's name has"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_line(
    config: Path, words: tuple[str, ...], said: str
) -> None:
    failed = perlica(config, *words)

    assert failed.exit_code != 0
    assert said in failed.stderr
    assert "Traceback" not in failed.output
    assert failed.stdout == ""


def test_without_an_address_there_is_no_console(tmp_path: Path) -> None:
    path = write_config(tmp_path)
    make_database(database_path(tmp_path / "state"))

    served = perlica(path, "serve")
    assert served.exit_code == 2
    assert "console.listen" in served.stderr
    assert console_settings(load_config(path), None) is None


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@pytest.fixture
def served(tmp_path: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    """`perlica console serve` as a process of its own."""
    path = write_config(tmp_path, f'[console]\nlisten = "127.0.0.1:{port}"\n')
    make_database(database_path(tmp_path / "state"))
    process = subprocess.Popen(
        [sys.executable, "-m", "perlica.app.cli", "console", "serve", "--config", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NO_PROXY": "127.0.0.1"},
    )
    yield process
    if process.poll() is None:
        process.kill()
    process.communicate()


def test_the_console_runs_by_itself_until_it_is_told_to_stop(
    served: subprocess.Popen[str], port: int
) -> None:
    with requests.Session() as session:
        session.trust_env = False

        def answers() -> bool:
            try:
                page = session.get(f"http://127.0.0.1:{port}/login", timeout=5)
            except requests.ConnectionError:
                return False
            return page.status_code == 200

        wait_until(answers)
    served.send_signal(signal.SIGTERM)
    began_s = time.monotonic()
    _, stderr = served.communicate(timeout=15)

    assert served.returncode == 0
    assert time.monotonic() - began_s < 10
    assert f"console: http://127.0.0.1:{port}" in stderr


def test_the_settings_are_those_of_the_configuration(tmp_path: Path) -> None:
    secret = write_private(tmp_path / "proxy", "a-shared-secret-for-the-proxy\n")
    section = f"""
[console]
listen = "0.0.0.0:8450"
public_url = "https://perlica.example.internal"
proxy_secret_file = "{secret}"
session_hours = 2
refresh_s = 5
threads = 3
"""
    config = load_config(write_config(tmp_path, section + SANDBOX))
    secrets = read_secrets(config)
    settings = console_settings(config, secrets.console_proxy, connection_fault=lambda: "muted")

    assert settings is not None
    assert (settings.host, settings.port, settings.threads) == ("0.0.0.0", 8450, 3)
    assert settings.is_behind_tls
    assert settings.origins(8450) == {"https://perlica.example.internal"}
    assert settings.proxy_secret == "a-shared-secret-for-the-proxy"
    assert "a-shared-secret-for-the-proxy" in secrets.values()
    assert settings.session_ms == 2 * 3_600_000
    assert settings.refresh_s == 5.0


def test_the_parts_say_how_the_service_is(tmp_path: Path) -> None:
    config = load_config(write_config(tmp_path, '[console]\nlisten = "127.0.0.1:1"\n' + SANDBOX))
    faults = ["muted", ""]

    def parts(fault: str | None) -> list[Health]:
        asked = None if fault is None else (lambda: fault)
        settings = console_settings(config, None, connection_fault=asked)
        assert settings is not None
        given = settings.parts()
        assert all(part.text.say(Language.zh) for part in given)
        return [part.health for part in given]

    assert [parts(fault)[0] for fault in faults] == [Health.fault, Health.ok]
    assert parts(None) == [Health.unknown, Health.unknown, Health.warning]
