"""The doctor on a fresh machine, and run by root beside the user whom the service belongs to."""

import os
from pathlib import Path

import pytest

from perlica.app.doctor.examination import examine
from perlica.domain.texts import Language
from tests.app.test_doctor import found, model, napcat, whole

__all__ = ["model", "napcat", "whole"]


@pytest.mark.root
def test_root_looks_with_the_eyes_of_the_services_user(whole: Path, tmp_path: Path) -> None:
    """The secrets have to be that user's; what root would own itself is what is wrong."""
    service = 64_123
    for path in (tmp_path / "state", tmp_path / "napcat-token"):
        os.chown(path, service, service)

    theirs = {f.subject: f.code for f in examine(whole).findings}
    os.chown(tmp_path / "napcat-token", 0, 0)
    ours = {f.subject: f.code for f in examine(whole).findings}

    assert theirs["napcat.token_file"] == "secret_ok"
    assert ours["napcat.token_file"] == "secret_not_ours"


def test_a_missing_configuration_is_named_with_its_path(tmp_path: Path) -> None:
    report = examine(tmp_path / "none.toml")

    assert f"{tmp_path}/none.toml" in found(report, "file_missing").text.say(Language.zh)
    assert f"{tmp_path}/none.toml" in found(report, "file_missing").text.say(Language.en)
