"""`perlica config`: which value holds, and which line or default it comes from."""

import json
from pathlib import Path

from perlica.app.config import Config
from perlica.app.config.meaning import section_of
from tests.app.configs import SANDBOX, write_config, write_private
from tests.app.test_command_line import perlica


def _settings(path: Path) -> dict[str, dict[str, object]]:
    shown = json.loads(perlica("config", "--json", path).stdout)
    return {setting["key"]: setting for setting in shown["settings"]}


def test_a_value_of_the_file_is_shown_with_its_line_and_another_as_the_default(
    tmp_path: Path,
) -> None:
    path = write_config(tmp_path)
    line = path.read_text().splitlines().index("group_id = 600100200") + 1

    shown = perlica("config", "--lang", "en", path).stdout.splitlines()

    assert _found(shown, "napcat.group_id = 600100200") == f"line {line}"
    assert _found(shown, "task.max_model_calls = 40") == "default"


def test_every_setting_is_shown_and_nothing_twice(tmp_path: Path) -> None:
    settings = _settings(write_config(tmp_path, SANDBOX))

    declared = {
        f"{name}.{key}"
        for name, field in Config.model_fields.items()
        if (section := section_of(field.annotation)) is not None
        for key, inner in section.model_fields.items()
        if section_of(inner.annotation) is None
    }
    assert declared - settings.keys() == set()
    assert settings["sandbox.limits.pids"]["source"] == "default"
    assert settings["sandbox.image.revision"]["source"] == "file"


def test_an_inline_table_and_a_list_of_tables_are_told_as_the_files(tmp_path: Path) -> None:
    nodes = '[[sandbox.nodes]]\nname = "node-2"\nsocket = "/run/two.sock"\n'
    text = SANDBOX.replace("[sandbox.image]", "limits = {pids = 99}\n[sandbox.image]")

    settings = _settings(write_config(tmp_path, text + nodes))

    assert settings["sandbox.limits.pids"]["value"] == 99
    assert settings["sandbox.limits.pids"]["source"] == "file"
    assert settings["sandbox.nodes[1].name"]["value"] == "node-2"


def test_the_environment_that_names_the_file_is_named(tmp_path: Path) -> None:
    path = write_config(tmp_path)

    shown = perlica("config", "--lang", "en", PERLICA_CONFIG=str(path)).stdout

    assert shown.startswith(f"# file {path} (named by the environment's PERLICA_CONFIG)")


def test_no_secret_is_read_and_what_looks_like_one_is_not_printed(tmp_path: Path) -> None:
    pasted = "sk-proj-" + "Ab3Cd5Ef7Gh9" * 4
    path = write_config(tmp_path, f'[context]\ntext = "key: {pasted}"\n')
    write_private(tmp_path / "napcat-token", "the-token-of-this-napcat\n")

    shown = perlica("config", path).stdout + perlica("config", "--json", path).stdout

    assert pasted not in shown
    assert "the-token-of-this-napcat" not in shown
    assert str(tmp_path / "napcat-token") in shown


def test_a_configuration_that_is_wrong_is_explained_instead(tmp_path: Path) -> None:
    shown = perlica("config", write_config(tmp_path, "[tesk]\n"))

    assert shown.exit_code == 2
    assert "tesk" in shown.output


def test_sandboxes_that_lack_a_value_say_which(tmp_path: Path) -> None:
    lacking = SANDBOX.replace('node = "node-1"\n', "")

    shown = perlica("config", "--lang", "en", write_config(tmp_path, lacking)).stdout

    assert shown.splitlines()[-1] == "# sandboxes are off for want of sandbox.node"


def _found(lines: list[str], setting: str) -> str:
    (line,) = (line for line in lines if line.split("  #")[0].rstrip() == setting)
    return line.rpartition("  # ")[2]
