"""A policy file may be stricter than the specification, never milder; a change of it is told."""

from pathlib import Path

import pytest

from perlica.app.config import Config, parse_config
from perlica.app.policy_change import context_version, note_rules
from perlica.domain.errors import Misconfigured
from perlica.domain.plan import Level
from perlica.gateway.core.policy_file import read_policy
from perlica.gateway.core.policy_floor import FLOOR
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from perlica.stores.migrations import check_target, migrate
from tests.app.configs import MINIMAL
from tests.stores.rows import GROUP, SELF

PACKAGED = Path(__file__).parents[2] / "perlica" / "gateway" / "policy.toml"
MILDER = [
    (action, level)
    for action, least in FLOOR.items()
    for level in ("low", "medium", "high")
    if not (least is Level.high and level == "high")
]


def write(folder: Path, text: str) -> Path:
    file = folder / "policy.toml"
    file.write_text(text, "utf-8")
    file.chmod(0o600)
    return file


@pytest.mark.parametrize(("action", "level"), MILDER)
@pytest.mark.parametrize("scope", ["sandbox", "service", "anything"])
def test_a_file_below_the_floor_stops_the_start_and_names_the_action(
    tmp_path: Path, action: str, level: str, scope: str
) -> None:
    file = write(tmp_path, f'version = "9"\n[{level}]\n"{action}" = ["{scope}"]\n')

    with pytest.raises(Misconfigured, match="policy_below_floor") as refusal:
        read_policy(file)

    assert action in refusal.value.text
    assert "stricter" in refusal.value.remedy


def test_the_packaged_policy_and_the_floor_name_the_same_actions() -> None:
    packaged = {
        action: level
        for (action, _), level in read_policy(None).levels.items()
        if level in {Level.high, Level.block}
    }

    assert packaged == dict(FLOOR)


def test_a_stricter_file_is_taken(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        'version = "9"\n[high]\n"sandbox.exec" = ["sandbox"]\n'
        '[block]\n"image.switch" = ["service"]\n',
    )

    policy = read_policy(file)

    assert policy.judge("sandbox.exec", "sandbox") is Level.high
    assert policy.judge("image.switch", "service") is Level.block
    assert policy.judge("sandbox.delete", "sandbox") is Level.block


def test_a_table_that_was_changed_without_a_new_version_is_another_version(
    tmp_path: Path,
) -> None:
    text = PACKAGED.read_text("utf-8")
    same = read_policy(write(tmp_path, "# a remark\n" + text))
    changed = read_policy(write(tmp_path, text.replace('"sandbox.keep" = ["sandbox"]\n', "")))

    assert same.version == read_policy(None).version
    assert changed.version != same.version
    assert changed.version.partition("#")[0] == same.version.partition("#")[0]


# --- a change is an action ----------------------------------------------------------------------


def config(text: str = "") -> Config:
    context = f'\n[context]\nversion = "1"\ntext = "{text}"\n' if text else ""
    return parse_config(MINIMAL + context)


def start(path: Path, told: Config, policy_file: Path | None) -> None:
    with Database.open(path) as database:
        note_rules(database, told, read_policy(policy_file))


def notices(path: Path) -> list[str]:
    with Database.open(path) as database:
        return [row["content"] for row in database.query("SELECT content FROM outbox_messages")]


def kinds(path: Path) -> list[str]:
    with Database.open(path) as database:
        return [event.kind for event in AuditStore(database).list_events(limit=20)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "perlica.db"
    migrate(file)
    with Database.open(file) as database:
        check_target(database, GROUP, SELF)
    return file


def test_another_policy_at_a_start_is_audited_and_told_once(path: Path, tmp_path: Path) -> None:
    stricter = write(tmp_path, 'version = "9"\n[high]\n"sandbox.exec" = ["sandbox"]\n')

    start(path, config(), None)
    assert (notices(path), kinds(path)) == ([], [])
    start(path, config(), stricter)
    start(path, config(), stricter)

    (notice,) = notices(path)
    assert "执行策略" in notice
    assert read_policy(None).version in notice
    assert read_policy(stricter).version in notice
    assert kinds(path) == ["policy.changed"]


def test_going_back_to_the_policy_before_is_told_too(path: Path, tmp_path: Path) -> None:
    stricter = write(tmp_path, 'version = "9"\n[high]\n"sandbox.exec" = ["sandbox"]\n')

    for file in (None, stricter, None, stricter):
        start(path, config(), file)

    assert len(notices(path)) == 3


def test_another_text_under_the_same_version_is_another_context(path: Path) -> None:
    first, second = config("我们用 Python。"), config("我们用 Go。")
    assert context_version(first) != context_version(second)
    assert context_version(first).startswith("1#")

    start(path, first, None)
    start(path, second, None)

    assert kinds(path) == ["context.changed"]
    assert "初始上下文" in notices(path)[0]
