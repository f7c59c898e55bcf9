"""The command line and the configuration: what a person sees when something is wrong."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandboxd.config import load_config
from sandboxd.faults import Misconfigured
from tests.sandboxd.authority import Authority
from tests.sandboxd.process import Daemon


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sandboxd", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def config_file(directory: Path, text: str) -> Path:
    file = directory / "sandboxd.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_an_unknown_key_is_refused_with_the_near_one(tmp_path: Path) -> None:
    file = config_file(tmp_path, "[bounds]\nsandboxs = 3\n")

    with pytest.raises(Misconfigured, match=r"bounds\.sandboxs.*did you mean sandboxes\?"):
        load_config(file, {})


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[bounds]\nsandboxes = 0\n", "bounds.sandboxes"),
        ('runtime = "docker"\n', "runtime"),
        ('state_dir = "relative"\n', "state_dir"),
        ("[ceilings]\ndisk_bytes = 1000\n", "ceilings.disk_bytes"),
        ("first_host_id = 0\n", "first_host_id"),
        ("allowed_uids = 3\n", "allowed_uids"),
    ],
)
def test_a_wrong_value_is_refused_with_its_key(tmp_path: Path, text: str, key: str) -> None:
    with pytest.raises(Misconfigured) as caught:
        load_config(config_file(tmp_path, text), {})

    assert key in caught.value.message


def test_a_missing_file_and_broken_toml_end_with_code_two(tmp_path: Path) -> None:
    missing = run("--config", str(tmp_path / "none.toml"), "serve")
    broken = run("--config", str(config_file(tmp_path, "= 3")), "serve")

    assert (missing.returncode, broken.returncode) == (2, 2)
    assert "none.toml" in missing.stderr
    assert "remedy:" in broken.stderr


def test_the_defaults_are_a_whole_configuration() -> None:
    config = load_config(None, {})

    assert config.bounds.sandboxes == 3
    assert config.allowed_uids == (os.getuid(),)


@pytest.mark.root
def test_the_doctor_of_a_running_node_finds_nothing_missing(daemon: Daemon) -> None:
    done = daemon.command("doctor", "--json")

    findings = {finding["subject"]: finding for finding in json.loads(done.stdout)}
    failures = [f for f in findings.values() if f["level"] == "failure"]
    assert failures == []
    assert findings["daemon"]["level"] == "ok"
    assert done.returncode in {0, 1}


def test_the_doctor_says_what_is_wrong_and_what_to_do(tmp_path: Path) -> None:
    file = config_file(
        tmp_path,
        f'state_dir = "{tmp_path}/s"\nrun_dir = "{tmp_path}/r"\nsocket = "{tmp_path}/r/s"\n'
        'init = "/no/such/init"\n',
    )

    done = run("--config", str(file), "doctor")

    assert done.returncode == 2
    assert "FAIL  program init: not found  -> apt install catatonit" in done.stdout
    assert "no answer" in done.stdout


def test_the_doctor_looks_at_certificates_registries_and_the_way_out(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "authority")
    certificate, key = authority.issue("node.test")
    file = config_file(
        tmp_path,
        f'state_dir = "{tmp_path}/s"\nrun_dir = "{tmp_path}/r"\nsocket = "{tmp_path}/r/s"\n'
        f'[tls]\nport = 1\ncertificate = "{certificate}"\nkey = "{key}"\n'
        f'client_authority = "{authority.file}"\n[tls.clients]\n"perlica.test" = "service"\n'
        '[[registries]]\nhost = "127.0.0.1:1"\ncredentials = "/none"\n'
        '[egress]\ntest_only_addresses = ["192.0.2.1"]\n'
        '[[egress.allow]]\nname = "localhost"\n',
    )

    done = run("--config", str(file), "doctor", "--json")

    findings = {f"{f['subject']}: {f['level']}": f["message"] for f in json.loads(done.stdout)}
    assert "1 clients, certificate valid for 1 days" in findings["tls: warning"]
    assert "does not answer" in findings["registry 127.0.0.1:1: warning"]
    assert "missing or open" in findings["credential file: failure"]
    assert "test_only_addresses" in findings["egress: warning"]
    assert "not public" in findings["egress localhost: warning"]
    assert any(subject.startswith("clock") for subject in findings)


@pytest.mark.root
def test_images_can_be_listed_for_people_and_programs(daemon: Daemon) -> None:
    table, listed = daemon.command("image", "list"), daemon.command("image", "list", "--json")

    assert "perlica-demo:1" in table.stdout
    assert any(held["reference"] == "perlica-demo:1" for held in json.loads(listed.stdout))


@pytest.mark.root
def test_a_directory_that_is_no_layout_is_refused_with_code_one(
    daemon: Daemon, tmp_path: Path
) -> None:
    done = daemon.command("image", "import", str(tmp_path))

    assert done.returncode == 1
    assert "index.json" in done.stderr


def test_the_gate_is_a_command_that_takes_the_settings_of_the_node(tmp_path: Path) -> None:
    shown = run("gate", "--help")
    unfit = run(
        "--config", str(config_file(tmp_path, "sandboxs = 3\n")), "gate", "--only", "cluster"
    )
    elsewhere = run("--state-dir", str(tmp_path), "gate")

    assert shown.returncode == 0
    assert "--full" in shown.stdout
    assert "Exit codes" in shown.stdout
    assert unfit.returncode == 2
    assert "sandboxs" in unfit.stderr or "this node lacks" in unfit.stderr
    assert elsewhere.returncode == 1
    assert "--config FILE" in elsewhere.stderr
