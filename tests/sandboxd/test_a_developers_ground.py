"""What a developer takes for granted of a machine: names, terminals, ports, servers, a home."""

import os
import tarfile
from pathlib import Path

import pytest

from sandboxd.execution.drain import DRAIN, Drain
from sandboxd.kernel.cgroups import ControlGroups, cgroup_mode
from tests.sandboxd.client import Box, Client, MakeBox
from tests.sandboxd.layouts import add, derive_layout, layer
from tests.sandboxd.process import Daemon, wait_for
from tests.sandboxd.test_commands import start_in_thread

pytestmark = pytest.mark.root
SERVE = "mkdir -p /srv && echo page > /srv/index.html && httpd -p 8080 -h /srv"
ASK = "wget -q -O - http://localhost:8080/"
USER = {"uid": 1000, "gid": 1000}


# ---------------------------------------------------------------- an end is its own command's


@pytest.mark.parametrize("ending", ["timed_out", "cancelled"])
def test_an_end_of_one_command_leaves_servers_and_other_commands_alone(
    client: Client, box: Box, ending: str
) -> None:
    box.shell(f"{SERVE}; (setsid sleep 7001 >/dev/null 2>&1 &)")
    _, kept_thread, kept = start_in_thread(
        box, "/bin/sh", "-c", "(sleep 7002 &) ; while [ ! -e /go ]; do sleep 0.05; done; echo done"
    )
    limit_ms = 400 if ending == "timed_out" else 60_000
    script = "(setsid sleep 7003 &); (sleep 7003 &); sleep 7003"
    operation, thread, ended = start_in_thread(box, "/bin/sh", "-c", script, timeout_ms=limit_ms)
    if ending == "cancelled":
        client.cancel(operation)
    thread.join(15)

    page, running = box.says(ASK), box.says("ps -o args")
    box.says("touch /go")
    kept_thread.join(15)

    assert (ended[0].ended, page) == (ending, "page")
    assert kept[0].stdout == b"done\n"
    assert ("sleep 7001" in running, "sleep 7002" in running) == (True, True)
    assert "sleep 7003" not in running


def test_a_command_cannot_leave_its_group_by_going_to_the_background_twice(box: Box) -> None:
    box.shell("(setsid sh -c '(setsid sleep 7004 &) ; sleep 7004' &) ; sleep 30", timeout_ms=500)

    assert "sleep 7004" not in box.says("ps -o args")


def test_groups_of_commands_that_left_nothing_are_removed(daemon: Daemon, box: Box) -> None:
    for _ in range(5):
        box.shell("true")
    box.shell("sleep 7005 >/dev/null 2>&1 &")
    node = (daemon.state / "node-id").read_text("ascii").strip()
    groups = ControlGroups(mode=cgroup_mode(), parent=f"/perlica/{node}")

    def left() -> list[Path]:
        return list(groups._group(box.instance).glob("*/"))

    box.says("true")
    assert wait_for(lambda: len(left()) <= 2, within_s=5), left()


# ---------------------------------------------------------------- servers in the background


def test_a_server_in_the_background_may_go_on_writing_to_its_output(box: Box) -> None:
    script = "(trap 'echo killed > /end' PIPE; while [ ! -e /go ]; do sleep 0.05; done;"
    box.shell(f"{script} seq 1 300000; echo $? > /end) & true")

    box.says("touch /go")

    assert wait_for(lambda: box.shell("cat /end").stdout == b"0\n", within_s=20)


def test_outputs_that_nobody_reads_are_closed_with_their_last_writer() -> None:
    drain = Drain()
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    drain.take(reading)

    for _ in range(40):
        os.write(writing, b"x" * 60_000)
    held = drain.pipes
    os.close(writing)

    assert held == 1
    assert wait_for(lambda: drain.pipes == 0, within_s=5)
    assert DRAIN.pipes == 0


# ---------------------------------------------------------------- names, terminals, ports


def test_localhost_and_the_sandboxes_own_name_resolve(make_box: MakeBox) -> None:
    box = make_box("builder")
    box.says(SERVE)

    for name in ("localhost", "builder", "127.0.0.1", "$(hostname)"):
        assert box.says(f"wget -q -O - http://{name}:8080/") == "page", name


def test_names_resolve_in_an_image_without_or_with_an_empty_table_of_hosts(
    daemon: Daemon, layout: Path, client: Client, tmp_path: Path
) -> None:
    for number, fill in enumerate(
        (lambda a: add(a, "etc/.wh.hosts"), lambda a: add(a, "etc/hosts", b""))
    ):
        box = import_box(daemon, client, layout, tmp_path / str(number), {}, layer(fill))
        box.says(SERVE)
        assert box.says(ASK) == "page"
        box.delete()


def test_a_table_of_hosts_is_completed_once_and_kept_as_it_is(box: Box) -> None:
    box.says("printf '10.1.2.3 api # box\\n127.0.0.1 localhost' > /etc/hosts")
    box.stop()
    first = box.says("cat /etc/hosts")
    box.stop()

    assert first == "10.1.2.3 api # box\n127.0.0.1 localhost\n127.0.0.1\tbox"
    assert box.says("cat /etc/hosts") == first


@pytest.mark.parametrize("odd", ["mkdir /etc/hosts", "mkfifo /etc/hosts", "ln -s /no/x /etc/hosts"])
def test_an_odd_table_of_hosts_does_not_keep_a_sandbox_from_starting(box: Box, odd: str) -> None:
    box.says(f"rm /etc/hosts; {odd}")
    box.stop()

    assert box.says("echo started") == "started"


def test_programs_get_terminals_of_the_sandboxes_own(box: Box) -> None:
    box.says("exec 3<>/dev/ptmx; ls /dev/pts > /tmp/seen")

    assert box.says("cat /tmp/seen").split() == ["0", "ptmx"]
    assert box.says("ls -l /dev/pts/ptmx | cut -c1-10") == "crw-rw-rw-"
    assert box.says("readlink /dev/ptmx") == "pts/ptmx"


def test_a_sandbox_cannot_take_all_terminals_of_the_node(box: Box) -> None:
    script = 'i=10; while [ $i -lt 200 ]; do eval "exec $i<>/dev/ptmx" || exit 9; i=$((i+1)); done'

    taken = box.shell(script)

    assert taken.exit_code != 0
    assert b"No space left" in taken.stderr


@pytest.mark.parametrize("user", [{"uid": 0, "gid": 0}, USER])
def test_port_80_can_be_served_by_everybody(box: Box, user: dict[str, int]) -> None:
    box.says("mkdir -p /srv && echo page > /srv/index.html")

    started = box.shell("httpd -p 80 -h /srv", user=user)

    assert started.exit_code == 0, started.stderr
    assert box.says("wget -q -O - http://localhost/") == "page"


# ---------------------------------------------------------------- the image's base


def import_box(
    daemon: Daemon,
    client: Client,
    layout: Path,
    place: Path,
    config: dict[str, object],
    *tars: bytes,
) -> Box:
    digest = derive_layout(layout, place, config, *tars)
    imported = daemon.command("image", "import", str(place))
    assert imported.returncode == 0, imported.stderr
    return Box(client, client.create("derived", digest))


def tools(archive: tarfile.TarFile) -> None:
    passwd = "root:x:0:0:root:/root:/bin/sh\ndev:x:1234:50:Dev:/home/dev:/bin/sh\n"
    add(archive, "etc/passwd", passwd.encode())
    add(archive, "etc/group", b"root:x:0:\nstaff:x:50:\nwheel:x:10:root,dev\nteam:x:77:\n")
    add(archive, "home/dev", type=tarfile.DIRTYPE, mode=0o755, uid=1234, gid=50)
    add(archive, "opt/tool/mytool", b"#!/bin/sh\necho tool in $PWD\n", mode=0o755)


@pytest.fixture
def derived(
    daemon: Daemon, client: Client, layout: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> Box:
    config = {
        "Env": ["PATH=/opt/tool:/usr/bin:/bin", "TOOL_HOME=/opt/tool", "LANG=zh_CN.UTF-8"],
        "WorkingDir": "/home/dev",
        "User": getattr(request, "param", "dev"),
    }
    return import_box(daemon, client, layout, tmp_path / "derived", config, layer(tools))


def test_env_directory_and_user_of_the_image_are_the_base_of_commands(derived: Box) -> None:
    said = (
        derived.run("mytool").stdout
        + derived.shell(
            "id -u; id -g; id -G; echo $TOOL_HOME $LANG $HOME; touch here && echo wrote"
        ).stdout
    )

    assert said.decode().splitlines() == [
        "tool in /home/dev",
        *("1234", "50", "50 10"),
        "/opt/tool zh_CN.UTF-8 /home/dev",
        "wrote",
    ]


def test_what_a_caller_says_goes_before_what_the_image_says(derived: Box) -> None:
    said = derived.shell(
        "pwd; id -u; echo $LANG $HOME", cwd="/usr", env={"LANG": "C"}, user={"uid": 0, "gid": 0}
    )

    assert said.stdout.decode().splitlines() == ["/usr", "0", "C /root"]


@pytest.mark.parametrize(
    ("derived", "ids"),
    [
        ("dev:team", "1234 77 77"),
        ("1234", "1234 50 50 10"),
        ("1234:9", "1234 9 9"),
        ("4321", "4321 0 0"),
        ("", "0 0 0"),
        ("0:77", "0 77 77"),
    ],
    indirect=["derived"],
)
def test_a_user_of_the_image_is_found_as_other_runtimes_find_it(derived: Box, ids: str) -> None:
    assert derived.says("echo $(id -u) $(id -g) $(id -G)") == ids


@pytest.mark.parametrize("derived", ["nobody-knows", "dev:nobody-knows"], indirect=True)
def test_a_user_that_the_sandbox_does_not_know_fails_to_start_and_says_so(derived: Box) -> None:
    outcome = derived.run("/bin/true")

    assert outcome.ended == "failed_to_start"
    assert b"the image's user" in outcome.stderr
    assert derived.run("/bin/true", user={"uid": 0, "gid": 0}).exit_code == 0


def test_the_images_user_has_no_capability_and_gains_none(derived: Box) -> None:
    sets = dict(
        line.replace("\t", "").split(":")
        for line in derived.says("grep -E '^(Cap|NoNewPrivs)' /proc/self/status").splitlines()
    )

    assert {int(sets[name], 16) for name in ("CapEff", "CapPrm", "CapInh", "CapAmb")} == {0}
    assert sets["NoNewPrivs"] == "1"


def test_another_user_may_begin_in_a_directory_that_is_closed_to_him(box: Box) -> None:
    outcome = box.shell("cd / && id -u && ls /root", cwd="/root", user=USER)
    closed = box.shell("chmod 700 /root; true")
    again = box.shell("cd / && id -u; ls /root", cwd="/root", user=USER)

    assert (outcome.stdout, closed.exit_code) == (b"1000\n", 0)
    assert again.stdout == b"1000\n"
    assert b"ermission denied" in again.stderr


@pytest.mark.parametrize("user", [USER, {"uid": 65535, "gid": 0}])
def test_a_user_whom_the_caller_names_has_no_capability_and_no_other_group(
    box: Box, user: dict[str, int]
) -> None:
    said = box.shell("grep -E '^(Cap|Groups|Uid|Gid)' /proc/self/status", user=user).stdout
    facts = {line.split(":")[0]: line.split()[1:] for line in said.decode().splitlines()}

    for name in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
        assert int(facts[name][0], 16) == 0, name
    assert (facts["Uid"], facts["Gid"]) == ([str(user["uid"])] * 4, [str(user["gid"])] * 4)
    assert facts["Groups"] == []


def test_the_base_outlives_the_daemon(daemon: Daemon, derived: Box) -> None:
    daemon.kill()
    daemon.start()

    assert derived.run("mytool").stdout == b"tool in /home/dev\n"


def test_home_is_the_users_own_also_of_one_made_in_the_sandbox(box: Box) -> None:
    box.says(
        "mkdir /home/me; chown 1000:1000 /home/me; echo 'me:x:1000:1000::/home/me:' >> /etc/passwd"
    )

    assert box.says("echo $HOME") == "/root"
    assert box.shell("touch $HOME/x && echo $HOME", user=USER).stdout == b"/home/me\n"
    assert box.shell("echo $HOME", user={"uid": 7, "gid": 7}).stdout == b"/\n"
    assert box.shell("echo $HOME", env={"HOME": "/srv"}, user=USER).stdout == b"/srv\n"


# ---------------------------------------------------------------- what cannot be executed


@pytest.mark.parametrize(
    ("make", "program", "reason"),
    [
        ("true", "/no/such", "No such file"),
        ("true", "no-such-name", "not found in PATH"),
        ("true", "", "No such file"),
        ("true", "/root", "Permission denied (not executable, or a directory)"),
        ("echo x > /f", "/f", "Permission denied"),
        ("echo x > /bin/plain", "plain", "Permission denied"),
        ("printf '#!/bin/sh\\r\\n' > /f; chmod 755 /f", "/f", "interpreter or loader is missing"),
        ("echo '#!/no/such' > /bin/f; chmod 755 /bin/f", "f", "interpreter or loader is missing"),
        ("printf '\\177ELF\\2\\1' > /f; chmod 755 /f", "/f", "Exec format error"),
        ("echo echo hi > /f; chmod 755 /f", "/f", "Exec format error"),
        ("ln -s loop /loop", "/loop", "symbolic links"),
        ("true", "/etc/passwd/x", "Not a directory"),
    ],
)
def test_a_program_that_cannot_be_executed_failed_to_start_for_a_named_reason(
    box: Box, make: str, program: str, reason: str
) -> None:
    box.says(make)

    outcome = box.run(program)

    assert (outcome.ended, outcome.exit_code, outcome.signal) == ("failed_to_start", None, None)
    assert outcome.stderr.decode().startswith(f"{program}: ")
    assert reason in outcome.stderr.decode()
    assert outcome.stdout == b""


@pytest.mark.parametrize(
    ("cwd", "reason"), [("/none", "No such file"), ("/etc/passwd", "Not a directory")]
)
def test_a_directory_that_cannot_be_entered_is_named(box: Box, cwd: str, reason: str) -> None:
    outcome = box.run("/bin/true", cwd=cwd)

    assert outcome.ended == "failed_to_start"
    assert f"working directory {cwd}: {reason}" in outcome.stderr.decode()


@pytest.mark.parametrize("status", [126, 127, 255])
def test_an_exit_code_of_a_shell_is_no_failure_to_start(box: Box, status: int) -> None:
    outcome = box.shell(f"exit {status}")

    assert (outcome.ended, outcome.exit_code) == ("exited", status)


def test_a_command_that_starts_has_no_descriptor_of_the_daemon(box: Box) -> None:
    assert box.says("ls /proc/self/fd | sort -n | tr '\\n' ' '").split()[:3] == ["0", "1", "2"]
    assert box.says("ls -l /proc/self/fd | grep -c socket || true") == "0"
