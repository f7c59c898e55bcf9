"""The configuration as an operator writes it, with his mistakes."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from pydantic import BaseModel

from perlica.app.config import Config, ConfigInvalid, Problem, parse_config
from perlica.app.config.example import write_example
from perlica.app.config.faults import FAULTS
from perlica.app.config.meaning import meaning_of, section_of
from perlica.domain.ids import UserId
from perlica.domain.texts import Language
from sandboxd import wire
from tests.app.configs import DIGEST, MINIMAL, NODES, SANDBOX, filled_in

ROOT = Path(__file__).parents[2]
CANARY = "sk-9f8e7d6c5b4a39281706f5e4"


def problems_of(text: str) -> list[Problem]:
    with pytest.raises(ConfigInvalid) as invalid:
        parse_config(text)
    return list(invalid.value.problems)


def problem_of(text: str) -> Problem:
    (problem,) = problems_of(text)
    return problem


def changed(section: str, key: str, value: str | None) -> str:
    """The minimal configuration with one key set to TOML text, or without it."""
    data = tomllib.loads(MINIMAL)
    data.setdefault(section, {}).pop(key, None)
    lines = tomli_w.dumps(data).splitlines()
    if value is not None:
        at = lines.index(f"[{section}]") if f"[{section}]" in lines else None
        if at is None:
            lines += [f"[{section}]"]
            at = len(lines) - 1
        lines.insert(at + 1, f"{key} = {value}")
    return "\n".join(lines)


def test_a_minimal_configuration_is_whole_and_finite() -> None:
    config = parse_config(MINIMAL)

    assert config.service.state_dir == Path("/var/lib/perlica")
    assert config.task.window_messages == 30
    assert config.owners == {UserId(30001), UserId(30002)}
    assert config.listed == config.owners
    assert config.sandbox is None


@pytest.mark.parametrize(
    ("section", "key"),
    [
        ("service", "state_dir"),
        ("napcat", "token_file"),
        ("napcat", "group_id"),
        ("napcat", "self_id"),
        ("members", "owners"),
        ("model", "base_url"),
        ("model", "name"),
    ],
)
def test_a_missing_core_value_stops_the_start_with_its_name(section: str, key: str) -> None:
    problem = problem_of(changed(section, key, None))

    assert problem.key == f"{section}.{key}"
    assert problem.code == "missing"
    assert f"{section}.{key} = " in problem.remedy.say(Language.zh)


def test_an_empty_file_names_everything_that_is_needed() -> None:
    keys = {problem.key for problem in problems_of("")}

    assert keys == {
        "service.state_dir",
        "napcat.token_file",
        "napcat.group_id",
        "napcat.self_id",
        "members.owners",
        "model.base_url",
        "model.name",
    }


@pytest.mark.parametrize(
    ("section", "key", "value", "code"),
    [
        ("service", "state_dir", '"var/lib"', "path_not_absolute"),
        ("service", "state_dir", '"/var/../etc"', "path_has_dots"),
        ("service", "state_dir", "5", "wrong_type"),
        ("service", "language", '"fr"', "wrong_type"),
        ("service", "time_zone", '"Mars/Olympus"', "time_zone_unknown"),
        ("service", "time_zone", '"../../etc/passwd"', "time_zone_unknown"),
        ("service", "demo", "1", "wrong_type"),
        ("service", "demo", '"true"', "wrong_type"),
        ("service", "stop_within_s", "inf", "out_of_range"),
        ("service", "stop_within_s", "nan", "out_of_range"),
        ("service", "stop_within_s", "-1", "out_of_range"),
        ("service", "stop_within_s", "0", "out_of_range"),
        ("service", "stop_within_s", "true", "wrong_type"),
        ("napcat", "url", '"http://127.0.0.1"', "address_not_ws"),
        ("napcat", "url", '"ws://example.com:3001"', "address_not_encrypted_ws"),
        ("napcat", "url", '"ws://127.0.0.1:3001/?access_token=x"', "address_with_credentials"),
        ("napcat", "url", '"ws://user:pass@127.0.0.1:3001"', "address_with_credentials"),
        ("napcat", "url", '"ws://127.0.0.1:99999"', "address_bad"),
        ("napcat", "url", '"ws://"', "address_bad"),
        ("napcat", "listen", '"127.0.0.1:6700"', "napcat_two_ways"),
        ("napcat", "url", None, "napcat_no_way"),
        ("napcat", "group_id", '"600100200"', "wrong_type"),
        ("napcat", "group_id", "600100200.0", "wrong_type"),
        ("napcat", "group_id", "true", "wrong_type"),
        ("napcat", "group_id", "1", "out_of_range"),
        ("napcat", "group_id", "0", "number_of_example"),
        ("napcat", "group_id", "-600100200", "out_of_range"),
        ("napcat", "token_file", '"/var/lib/perlica/token"', "secret_in_state"),
        ("napcat", "token_file", '"my-token"', "path_not_absolute"),
        ("napcat", "silence_within_s", "10", "order_ping"),
        ("members", "owners", "[]", "wrong_size"),
        ("members", "owners", "30001", "wrong_type"),
        ("members", "owners", '["30001"]', "wrong_type"),
        ("members", "owners", "[30001, true]", "wrong_type"),
        ("members", "owners", "[30001, 30001]", "number_twice"),
        ("members", "members", "[30001]", "number_twice"),
        ("members", "members", "[10000]", "self_is_member"),
        ("model", "base_url", '"ftp://x"', "address_not_http"),
        ("model", "base_url", '"http://api.example.com/v1"', "address_not_encrypted_http"),
        ("model", "base_url", '"https://api.example.com/v1"', "key_file_needed"),
        ("model", "name", '""', "text_empty"),
        ("model", "name", '"a\\nb"', "text_not_one_line"),
        ("model", "dialect", '"gpt"', "wrong_type"),
        ("model", "call_within_s", "5", "order_model_times"),
        ("model", "total_within_s", "100", "order_model_times"),
        ("model", "context_tokens", "4096", "order_model_tokens"),
        ("model", "key_file", '"/etc/perlica/secrets/napcat-token"', "paths_equal"),
        ("task", "window_minutes", "16", "out_of_range"),
        ("task", "window_messages", "31", "out_of_range"),
        ("task", "window_code_points", "24001", "out_of_range"),
        ("task", "max_model_calls", "1.5", "wrong_type"),
        ("task", "max_tokens", "100000000000000000000", "out_of_range"),
        ("approval", "lifetime_s", "601", "out_of_range"),
        ("outbox", "answer_within_s", "15", "order_send"),
        ("retention", "messages_days", "91", "out_of_range"),
        ("context", "text", '"a\\u202eb"', "text_not_printable"),
        ("log", "level", '"loud"', "wrong_type"),
        ("log", "file", "1979-05-27", "wrong_type"),
        ("log", "keep_files", "[1]", "wrong_type"),
    ],
)
def test_a_wrong_value_names_its_key_and_its_line(
    section: str, key: str, value: str | None, code: str
) -> None:
    text = changed(section, key, value)
    problem = next(p for p in problems_of(text) if p.code == code)

    assert problem.key.startswith(section)
    assert problem.line is not None
    line = text.splitlines()[problem.line - 1]
    assert line.startswith((problem.key.rpartition(".")[2], f"[{section}]"))
    for language in Language:
        assert problem.say(language)


def test_everything_is_told_at_once_in_the_order_of_the_file() -> None:
    text = MINIMAL.replace("600100200", '"x"').replace("[30001, 30002]", "[1]")
    problems = problems_of(text + "[tesk]\n[log]\nlevel = 1\n")

    assert [problem.key for problem in problems] == [
        "napcat.group_id",
        "members.owners",
        "tesk",
        "log.level",
    ]


@pytest.mark.parametrize(
    ("section", "key", "hint"),
    [
        ("service", "langauge", "service.language"),
        ("task", "max_model_call", "task.max_model_calls"),
        ("model", "wall_time_s", "[task]"),
        ("napcat", "token", "napcat.token_file"),
        ("model", "api_key", "model.key_file"),
        ("service", "password", "model.key_file"),
        ("log", "quite_different", "repeat_within_s"),
    ],
)
def test_an_unknown_key_is_an_error_with_a_hint(section: str, key: str, hint: str) -> None:
    problem = problem_of(changed(section, key, '"x"'))

    assert problem.code == "unknown_key"
    assert problem.key == f"{section}.{key}"
    assert hint in problem.remedy.say(Language.zh)


@pytest.mark.parametrize("value", ["5", '"x"', "[]", "[1]", "true", "[[1]]"])
def test_a_section_that_is_no_section_is_told(value: str) -> None:
    problem = problem_of(f"task = {value}\noutbox = {{}}\n{MINIMAL}")

    assert problem.key == "task"
    assert problem.line == 1
    assert "wall_time_s" in problem.remedy.say(Language.en)


def test_an_unknown_section_is_an_error_with_a_hint() -> None:
    problem = problem_of(MINIMAL + "[membres]\n")

    assert problem.key == "membres"
    assert "members" in problem.remedy.say(Language.en)


def _keys(section: type[BaseModel], path: tuple[str, ...]) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for key, field in section.model_fields.items():
        nested = section_of(field.annotation)
        found += _keys(nested, (*path, key)) if nested else [(*path, key)]
    return found


ALL_KEYS = [path for path in _keys(Config, ()) if path != ("lacks",)]


def _with(path: tuple[str, ...], value: object) -> str:
    data: dict[str, Any] = tomllib.loads(MINIMAL + SANDBOX)
    place = data
    for part in path[:-1]:
        if path[:-1] in NODES and part == path[-2]:
            place[part] = [dict(NODES[path[:-1]])]
            place = place[part][0]
        else:
            place = place.setdefault(part, {})
    place[path[-1]] = value
    return tomli_w.dumps(data)


@pytest.mark.parametrize("path", [*ALL_KEYS, ("service", "token"), ("new", "key")], ids=".".join)
@pytest.mark.parametrize(
    "value", [CANARY, [CANARY], {CANARY: CANARY}], ids=["text", "list", "table"]
)
def test_a_credential_pasted_anywhere_is_never_repeated(
    path: tuple[str, ...], value: object
) -> None:
    try:
        parse_config(_with(path, value))
    except ConfigInvalid as invalid:
        for said in (
            invalid.say(Language.zh),
            invalid.say(Language.en),
            str(invalid),
            repr(invalid),
        ):
            assert CANARY not in said.replace(f"{'.'.join(path)}.{CANARY}", "")


@pytest.mark.parametrize("path", ALL_KEYS, ids=".".join)
def test_every_setting_has_a_meaning_and_an_example_that_works(path: tuple[str, ...]) -> None:
    section: type[BaseModel] = Config
    for part in path[:-1]:
        nested = section_of(section.model_fields[part].annotation)
        assert nested is not None
        section = nested
    field = section.model_fields[path[-1]]
    meaning = meaning_of(field)
    example = meaning.example.replace("<64 hex>", "0" * 64)

    assert meaning.zh
    assert meaning.en.isascii()
    parse_config(_with(path, tomllib.loads(f"x = {example}")["x"])) if path not in ODD else None


ODD = {
    ("model", "base_url"),
    ("napcat", "listen"),
    ("napcat", "self_id"),
    ("members", "owners"),
    ("members", "members"),
}


def test_the_example_is_a_copy_of_what_the_program_prints() -> None:
    assert (ROOT / "config.example.toml").read_text("utf-8") == write_example()


def test_the_example_is_valid_once_filled_in_and_with_every_default_switched_on() -> None:
    text = filled_in(write_example().replace("<64 hex>", "0" * 64))
    every = "\n".join(
        line[1:] if line.startswith("#") and not line.startswith("# ") else line
        for line in text.splitlines()
        if not line.startswith("#listen")
    )

    assert parse_config(text).sandbox is None
    whole = parse_config(every)
    assert whole.sandbox is not None
    assert {path for path in ALL_KEYS if f"{path[-1]} = " not in text} == set()
    assert whole.task == parse_config(text).task


def test_a_capability_that_lacks_a_value_is_off_and_says_which() -> None:
    lacking = SANDBOX.replace('node = "node-1"\n', "").replace(f'digest = "{DIGEST}"\n', "")
    config = parse_config(MINIMAL + lacking)
    (capability,) = config.capabilities()

    assert config.sandbox is None
    assert not capability.on
    assert "sandbox.node, sandbox.image.digest" in capability.reason.say(Language.zh)


def test_a_capability_without_its_section_is_off() -> None:
    (capability,) = parse_config(MINIMAL).capabilities()

    assert not capability.on
    assert capability.remedy.say(Language.en)


def test_a_wrong_value_of_a_capability_stops_the_start_all_the_same() -> None:
    lacking = SANDBOX.replace('node = "node-1"', 'node = "Node_1"').replace("revision = 1", "")
    problem = problem_of(MINIMAL + lacking)

    assert problem.key == "sandbox.node"
    assert problem.code == "node_bad"


def test_sandboxes_without_a_gate_report_run_in_demo_mode_only() -> None:
    real = parse_config(MINIMAL + SANDBOX)
    demo = parse_config(MINIMAL.replace("[napcat]", "demo = true\n[napcat]") + SANDBOX)

    assert [capability.on for capability in real.capabilities()] == [False]
    assert [capability.on for capability in demo.capabilities()] == [True]
    assert [capability.experimental for capability in demo.capabilities()] == [True]


@pytest.mark.parametrize("url", ["ws://10.0.0.5:3001", "wss://napcat.example.com", "ws://napcat:1"])
def test_demo_mode_needs_napcat_on_this_machine(url: str) -> None:
    text = MINIMAL.replace("[napcat]", "demo = true\n[napcat]")
    problem = problem_of(text.replace("ws://127.0.0.1:3001", url))

    assert problem.code == "demo_not_loopback"
    assert problem.key == "napcat.url"


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "[::1]", "10.1.2.3", "napcat", "napcat.perlica.svc"]
)
def test_addresses_inside_may_be_unencrypted(host: str) -> None:
    config = parse_config(MINIMAL.replace("127.0.0.1:3001", f"{host}:3001"))

    assert config.napcat.url == f"ws://{host}:3001"


def test_the_smallest_disk_is_the_node_daemons_own_limit() -> None:
    below = f"[sandbox.limits]\ndisk_bytes = {wire.MIN_DISK_BYTES - 1}\n"
    least = below.replace(str(wire.MIN_DISK_BYTES - 1), str(wire.MIN_DISK_BYTES))

    assert problem_of(MINIMAL + SANDBOX + below).key == "sandbox.limits.disk_bytes"
    assert parse_config(MINIMAL + SANDBOX + least).sandbox is not None


def test_the_digest_follows_every_value_and_nothing_else() -> None:
    plain = parse_config(MINIMAL)
    commented = parse_config("# a comment\n" + MINIMAL)
    other = parse_config(MINIMAL.replace("30002", "30003"))

    assert plain.digest == commented.digest
    assert plain.digest != other.digest
    assert len(plain.short_digest) == 12


def test_a_configuration_cannot_be_changed_afterwards() -> None:
    config = parse_config(MINIMAL)

    with pytest.raises(ValueError, match="frozen"):
        config.members = config.members  # type: ignore[misc]


def test_errors_speak_the_language_that_the_file_asks_for() -> None:
    text = MINIMAL.replace("[napcat]", 'language = "en"\n[napcat]\nx = 1')
    with pytest.raises(ConfigInvalid) as invalid:
        parse_config(text)

    assert "is no setting" in str(invalid.value)
    assert "没有这个设置" in invalid.value.say(Language.zh)


def test_every_fault_says_what_is_wrong_and_what_to_do() -> None:
    for code, fault in FAULTS.items():
        assert fault.code == code
        for text in (fault.wrong, fault.remedy):
            assert all(text.say(language) for language in Language)
