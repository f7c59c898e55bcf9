"""Who thinks is chosen in the configuration, among the runtimes that can be built."""

from pathlib import Path

import pytest

from perlica.app.config import ConfigInvalid, parse_config
from perlica.app.runtimes import BUILDERS, build_runtime
from perlica.app.secrets import Secrets, read_secrets
from perlica.domain.errors import Misconfigured
from perlica.runtimes.names import RuntimeName
from perlica.runtimes.native.runtime import NativeRuntime
from tests.app.configs import MINIMAL


@pytest.fixture
def secrets(tmp_path: Path) -> Secrets:
    token = tmp_path / "token"
    token.write_text("t" * 32)
    token.chmod(0o600)
    return read_secrets(
        parse_config(MINIMAL.replace("/etc/perlica/secrets/napcat-token", f"{token}"))
    )


def test_every_runtime_that_the_configuration_knows_can_be_built() -> None:
    assert set(BUILDERS) == set(RuntimeName)


@pytest.mark.parametrize("section", ["", '[task]\nruntime = "native"\n'], ids=["default", "named"])
def test_the_native_runtime_thinks_unless_another_is_named(secrets: Secrets, section: str) -> None:
    config = parse_config(MINIMAL + section)

    assert config.task.runtime is RuntimeName.native
    assert isinstance(build_runtime(config, secrets), NativeRuntime)


def test_the_runtime_that_is_named_is_the_one_that_is_built(
    secrets: Secrets, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_config: object, _secrets: object) -> NativeRuntime:
        raise Misconfigured("asked", "the named one was asked for")

    monkeypatch.setitem(BUILDERS, RuntimeName.native, fail)

    with pytest.raises(Misconfigured, match="asked"):
        build_runtime(parse_config(MINIMAL), secrets)


@pytest.mark.parametrize("word", ["pi", "Native", ""])
def test_a_runtime_that_does_not_exist_is_refused_with_those_that_do(word: str) -> None:
    with pytest.raises(ConfigInvalid) as invalid:
        parse_config(f'{MINIMAL}[task]\nruntime = "{word}"\n')

    (problem,) = invalid.value.problems
    assert problem.key == "task.runtime"
    assert "native" in str(problem)
