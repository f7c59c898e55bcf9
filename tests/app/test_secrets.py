"""Secrets: from private files only, and never shown."""

import copy
import os
import pickle
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

from perlica.app.config import load_config
from perlica.app.secrets import Secret, SecretInvalid, read_secret, read_secrets
from perlica.domain.texts import Language
from tests.app.configs import is_root, write_config, write_private

VALUE = "correct-horse-battery-staple"


def code_of(path: Path) -> str:
    with pytest.raises(SecretInvalid) as invalid:
        read_secret(path, key="napcat.token_file")
    assert VALUE not in repr(invalid.value) + str(invalid.value) + invalid.value.remedy
    assert invalid.value.wrong.say(Language.zh)
    assert str(path) in invalid.value.fix.say(Language.zh)
    return invalid.value.code


@pytest.mark.parametrize("text", [VALUE, f"{VALUE}\n", f"{VALUE}\r\n"])
def test_a_private_file_is_read_without_its_line_end(tmp_path: Path, text: str) -> None:
    secret = read_secret(write_private(tmp_path / "token", text), key="napcat.token_file")

    assert secret.reveal() == VALUE


@pytest.mark.parametrize("mode", [0o604, 0o640, 0o620, 0o602, 0o660, 0o644, 0o777])
def test_a_file_that_others_can_touch_is_refused(tmp_path: Path, mode: int) -> None:
    path = write_private(tmp_path / "token", VALUE)
    path.chmod(mode)

    assert code_of(path) == "secret_open"


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o700])
def test_a_file_of_ours_alone_is_taken(tmp_path: Path, mode: int) -> None:
    path = write_private(tmp_path / "token", VALUE)
    path.chmod(mode)

    assert read_secret(path, key="x").reveal() == VALUE


def test_a_directory_that_others_can_write_is_refused_unless_it_is_sticky(tmp_path: Path) -> None:
    folder = tmp_path / "secrets"
    folder.mkdir()
    path = write_private(folder / "token", VALUE)
    folder.chmod(0o777)
    assert code_of(path) == "secret_directory_open"

    folder.chmod(0o1777)
    assert read_secret(path, key="x").reveal() == VALUE


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"", "secret_empty"),
        (b"\n", "secret_empty"),
        (b"a b", "secret_not_a_word"),
        (b"two\nlines\n", "secret_not_a_word"),
        (b" padded", "secret_not_a_word"),
        (b"\xef\xbb\xbftoken", "secret_not_a_word"),
        ("密钥".encode(), "secret_not_a_word"),
        (b"nul\0", "secret_not_a_word"),
        (b"x" * 20_000, "secret_too_large"),
    ],
)
def test_only_one_visible_word_is_a_secret(tmp_path: Path, raw: bytes, code: str) -> None:
    path = write_private(tmp_path / "token", "")
    path.write_bytes(raw)

    assert code_of(path) == code


def test_what_is_no_file_neither_hangs_nor_passes(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo", 0o600)

    assert code_of(tmp_path / "fifo") == "secret_not_a_file"
    assert code_of(tmp_path) == "secret_not_a_file"
    assert code_of(tmp_path / "absent") == "secret_missing"
    assert code_of(tmp_path / "fifo" / "x") == "secret_unreadable"


def test_a_link_is_followed_and_its_target_judged(tmp_path: Path) -> None:
    target = write_private(tmp_path / "target", VALUE)
    (tmp_path / "link").symlink_to(target)
    assert read_secret(tmp_path / "link", key="x").reveal() == VALUE

    target.chmod(0o644)
    assert code_of(tmp_path / "link") == "secret_open"


MOUNTED_SECRET = """
    import os, subprocess, sys
    from pathlib import Path
    from perlica.app.secrets import SecretInvalid, read_secret

    folder, mode = Path(sys.argv[1]), int(sys.argv[2], 8)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", folder], check=True)
    data = folder / "..2026_11_30"
    data.mkdir(mode=0o755)
    (data / "token").write_text("correct-horse-battery-staple")
    (data / "token").chmod(mode)
    os.chown(data / "token", 0, 4242)
    (folder / "..data").symlink_to(data.name)
    (folder / "token").symlink_to("..data/token")
    os.setgroups([4242])
    os.setresgid(4243, 4243, 4243)
    os.setresuid(4243, 4243, 4243)
    try:
        print(read_secret(folder / "token", key="x").reveal())
    except SecretInvalid as invalid:
        print(invalid.code)
"""


@pytest.mark.root
@pytest.mark.parametrize(
    ("mode", "answer"),
    [
        ("440", VALUE),
        ("400", "secret_unreadable"),
        ("444", "secret_open_in_mount"),
        ("460", "secret_open_in_mount"),
    ],
)
def test_a_mounted_secret_is_read_through_its_links_by_its_group(mode: str, answer: str) -> None:
    if not is_root():
        pytest.skip("needs root to mount a file system")
    enter = ["unshare", "--mount", "--propagation", "private"]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        ended = subprocess.run(
            [*enter, sys.executable, "-c", textwrap.dedent(MOUNTED_SECRET), folder, mode],
            capture_output=True,
            text=True,
            check=False,
            timeout=50,
        )

    assert ended.stdout.strip() == answer, ended.stderr


@pytest.mark.root
def test_a_file_of_somebody_else_is_refused(tmp_path: Path) -> None:
    if not is_root():
        pytest.skip("needs root to give a file away")
    path = write_private(tmp_path / "token", VALUE)
    os.chown(path, 4243, 4243)

    assert code_of(path) == "secret_not_ours"


def test_nothing_shows_a_secret_but_reveal() -> None:
    secret = Secret("napcat.token_file", VALUE)

    for shown in (repr(secret), str(secret), f"{secret}", f"{secret!r:>60}", f"{[secret]}"):
        assert VALUE not in shown
        assert "napcat.token_file" in shown
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            leave(secret)


def test_all_secrets_of_a_configuration_are_read(tmp_path: Path) -> None:
    config = load_config(write_config(tmp_path))
    secrets = read_secrets(config)

    assert secrets.model_key is None
    assert secrets.values() == ("a-long-napcat-token-for-tests",)
    assert "a-long" not in repr(secrets) + repr(config)
