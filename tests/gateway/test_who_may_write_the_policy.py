"""A policy that anybody but its owner could write decides nothing."""

from importlib import resources
from pathlib import Path

import pytest

from perlica.domain.errors import Misconfigured
from perlica.gateway.core.policy_file import read_policy


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_policy_that_others_can_write_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "policy.toml"
    path.write_bytes(resources.files("perlica.gateway").joinpath("policy.toml").read_bytes())
    path.chmod(0o644)
    assert read_policy(path).levels == read_policy(None).levels
    path.chmod(mode)

    with pytest.raises(Misconfigured) as refused:
        read_policy(path)

    assert refused.value.code == "policy_open_to_others"
