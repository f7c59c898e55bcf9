"""A command that the kernel ends for the sandbox's memory limit says so, and only such a one."""

from pathlib import Path

import pytest

from sandboxd.kernel import cgroups
from sandboxd.kernel.cgroups import CgroupMode, ControlGroups
from tests.sandboxd.client import MakeBox

MIB = 1024 * 1024
HOG = "dd if=/dev/zero of=/dev/null bs=200M count=1"


@pytest.mark.root
def test_a_command_that_is_killed_for_memory_says_that_memory_was_short(make_box: MakeBox) -> None:
    box = make_box(limits={"memory_bytes": 64 * MIB})

    outcome = box.run("/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=200M", "count=1")
    again = box.run("/bin/true")

    assert (outcome.signal, outcome.out_of_memory) == (9, True)
    assert (again.exit_code, again.out_of_memory) == (0, False)


@pytest.mark.root
def test_a_shell_whose_child_is_killed_for_memory_says_so_behind_its_exit_code(
    make_box: MakeBox,
) -> None:
    box = make_box(limits={"memory_bytes": 64 * MIB})

    outcome = box.shell(f"{HOG}; exit $?")

    assert (outcome.exit_code, outcome.out_of_memory) == (137, True)


@pytest.mark.root
def test_a_command_that_is_killed_by_a_signal_of_its_own_is_not_short_of_memory(
    make_box: MakeBox,
) -> None:
    outcome = make_box().shell("kill -9 $$")

    assert (outcome.signal, outcome.out_of_memory) == (9, False)


@pytest.mark.parametrize(
    ("mode", "place", "text"),
    [
        ("v2", "memory.events", "low 0\nhigh 3\nmax 12\noom 2\noom_kill 2\noom_group_kill 1\n"),
        ("v1", "memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"),
    ],
)
def test_kills_for_memory_are_counted_in_either_version_of_control_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: CgroupMode, place: str, text: str
) -> None:
    hierarchy, _, file = f"./{place}".rpartition("/")
    group = tmp_path / hierarchy / "perlica" / "box"
    group.mkdir(parents=True)
    (group / file).write_text(text)
    monkeypatch.setattr(cgroups, "ROOT", tmp_path)
    monkeypatch.setattr(cgroups, "_version_1_hierarchies", lambda: (tmp_path / "memory",))

    groups = ControlGroups(mode=mode, parent="perlica")

    assert groups.memory_kills("box") == 2
    assert groups.memory_kills("none") == 0
