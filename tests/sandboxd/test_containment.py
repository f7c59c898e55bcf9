"""What a command cannot do, each claim a sentence. Commands run as the sandbox's root."""

import os
from pathlib import Path

import pytest

from tests.sandboxd.client import Box, MakeBox
from tests.sandboxd.process import Daemon

pytestmark = pytest.mark.root


def refused(box: Box, script: str) -> str:
    """stderr of a script that must fail."""
    outcome = box.shell(script)
    assert outcome.exit_code not in {0, None}, outcome.stdout
    return outcome.stderr.decode("utf-8", "replace")


@pytest.mark.evidence(7)
def test_cannot_mount(box: Box) -> None:
    """What runs in a sandbox cannot mount anything."""
    refused(box, "mount -t tmpfs none /tmp")
    refused(box, "mount --bind /etc /tmp")
    refused(box, "mount -t proc proc /tmp")


@pytest.mark.evidence(7)
def test_cannot_unmount(box: Box) -> None:
    """What runs in a sandbox cannot unmount anything."""
    refused(box, "umount /proc")


@pytest.mark.evidence(7)
def test_cannot_make_device_nodes(box: Box) -> None:
    assert "Operation not permitted" in refused(box, "mknod /tmp/disk b 254 0")
    assert "Operation not permitted" in refused(box, "mknod /tmp/mem c 1 1")


@pytest.mark.evidence(7)
def test_can_make_a_fifo(box: Box) -> None:
    assert box.says("mkfifo /tmp/fifo && test -p /tmp/fifo && echo yes") == "yes"


@pytest.mark.evidence(7)
def test_cannot_make_namespaces(box: Box) -> None:
    """What runs in a sandbox cannot make namespaces of its own."""
    for kind in ("-U", "-m", "-n", "-p", "-u", "-i"):
        refused(box, f"unshare {kind} true")


@pytest.mark.evidence(7)
def test_cannot_chroot_or_pivot_root(box: Box) -> None:
    refused(box, "chroot / true")
    refused(box, "mkdir -p /tmp/old && pivot_root / /tmp/old")


@pytest.mark.evidence(7)
def test_cannot_see_files_of_the_node(box: Box, daemon: Daemon) -> None:
    secret = daemon.state / "only-on-the-node"
    secret.write_text("x", encoding="ascii")

    assert box.says(f"ls {secret} 2>/dev/null | wc -l") == "0"
    assert box.says("cat /proc/1/root/etc/os-release | head -n1") == "ID=perlica-demo"
    assert box.says("grep -c ext4 /proc/mounts || true") == "0"


@pytest.mark.evidence(7)
def test_cannot_see_processes_of_the_node(box: Box) -> None:
    seen = box.says("ls -d /proc/[0-9]* | wc -l")

    assert int(seen) < 10
    assert str(os.getpid()) not in box.says("ls /proc").split()


@pytest.mark.evidence(7)
def test_cannot_reach_any_network(box: Box) -> None:
    assert box.says("ls /sys/class/net") == "lo"
    assert (
        box.says("tail -n +2 /proc/net/route | wc -l; ls /proc/net/arp >/dev/null && echo ok")
        == "0\nok"
    )
    refused(box, "nc -w 2 10.0.0.1 80 < /dev/null")


@pytest.mark.evidence(7)
def test_cannot_make_raw_packet_sockets(box: Box) -> None:
    assert "permission denied" in refused(box, "ping -c1 -W1 127.0.0.1")
    refused(box, "arping -c1 127.0.0.1")


@pytest.mark.evidence(7)
def test_has_only_the_seven_capabilities_and_cannot_gain_more(box: Box) -> None:
    status = box.says("grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status")
    facts = dict(line.replace("\t", "").split(":") for line in status.splitlines())

    assert int(facts["CapEff"], 16) == 0b11111011
    assert facts["CapBnd"] == facts["CapEff"] == facts["CapPrm"]
    assert int(facts["CapInh"], 16) == int(facts["CapAmb"], 16) == 0
    assert facts["NoNewPrivs"] == "1"
    assert facts["Seccomp"] == "2"


@pytest.mark.evidence(7)
def test_another_user_has_no_capability_at_all(box: Box) -> None:
    outcome = box.shell("grep CapEff /proc/self/status", user={"uid": 1000, "gid": 1000})

    assert outcome.stdout == b"CapEff:\t0000000000000000\n"


@pytest.mark.evidence(7)
def test_cannot_change_kernel_settings(box: Box) -> None:
    refused(box, "echo 1 > /proc/sys/kernel/panic")
    refused(box, "echo c > /proc/sysrq-trigger")
    refused(box, "echo x > /sys/kernel/uevent_helper")


@pytest.mark.evidence(7)
def test_cannot_read_kernel_memory_or_keys(box: Box) -> None:
    assert box.says("cat /proc/kallsyms /proc/keys | wc -c") == "0"
    assert box.says("head -c 10 /proc/kcore 2>/dev/null | wc -c") == "0"
    refused(box, "cat /dev/kmsg")
    refused(box, "dmesg")


@pytest.mark.evidence(7)
def test_sees_no_disks_and_no_control_groups(box: Box) -> None:
    assert box.says("ls /dev/loop* /dev/vd* /dev/sd* /dev/fuse /dev/kvm 2>/dev/null | wc -l") == "0"
    assert box.says("grep -c ' cgroup' /proc/mounts || true") == "0"


@pytest.mark.evidence(7)
def test_cannot_take_over_the_device_nodes(box: Box) -> None:
    refused(box, "chmod 600 /dev/null")
    refused(box, "chown 1 /dev/null")
    box.shell("rm /dev/null; mv /dev/zero /dev/null")

    node = Path("/dev/null").stat()
    assert (os.major(node.st_rdev), os.minor(node.st_rdev)) == (1, 3)
    assert node.st_uid == 0
    assert node.st_mode & 0o777 == 0o666


@pytest.mark.evidence(7)
def test_cannot_change_the_programs_that_the_node_lends_it(box: Box) -> None:
    for program in ("/dev/init", "/dev/files"):
        refused(box, f"echo x > {program}")
        refused(box, f"chmod 777 {program}")


@pytest.mark.evidence(7)
def test_killing_everything_it_can_does_not_end_its_init(box: Box) -> None:
    box.shell("kill -9 -1")

    assert box.says("cat /proc/1/comm; ls -l /proc/1/exe | grep -c /dev/init") == "init\n1"


@pytest.mark.evidence(7)
def test_two_sandboxes_have_different_users_on_the_node(make_box: MakeBox) -> None:
    first = make_box("first").says("cat /proc/self/uid_map").split()
    second = make_box("second").says("cat /proc/self/uid_map").split()

    assert first[1] != second[1]
    assert min(int(first[1]), int(second[1])) >= 65536


@pytest.mark.evidence(7)
def test_files_on_the_disk_belong_to_plain_ids(box: Box) -> None:
    box.says("touch /root/mine; mkdir /home/u; chown 1000:1001 /home/u")

    assert box.says("stat -c %u:%g /root/mine /home/u") == "0:0\n1000:1001"


@pytest.mark.evidence(7)
def test_a_set_user_id_program_gives_nothing(box: Box) -> None:
    box.says("cp /bin/busybox /srv/busybox; chmod 4755 /srv/busybox")

    outcome = box.run("/srv/busybox", "id", "-u", user={"uid": 1000, "gid": 1000})

    assert outcome.stdout == b"1000\n"


def test_the_daemon_runs_with_a_small_set_of_capabilities(daemon: Daemon) -> None:
    status = Path(f"/proc/{daemon.pid}/status").read_text("ascii")

    bounding = next(line for line in status.splitlines() if line.startswith("CapBnd"))
    assert int(bounding.split()[1], 16) == 0x2001FF


def test_the_daemons_mounts_do_not_show_on_the_node(daemon: Daemon, box: Box) -> None:
    box.run("/bin/true")

    assert str(daemon.run) not in Path("/proc/self/mountinfo").read_text("utf-8")
