"""The root file system: every kind of change, and all of them after it was mounted again."""

import os

from gate.bench import Bench
from gate.lines import Check, require
from gate.rig.image import LARGE_BYTES, large_digest
from gate.rig.stack import Stack, opened_disk
from sandboxd.storage.disk import create_disk
from sandboxd.wire import MIN_DISK_BYTES

_MIB = 1024 * 1024
_REQUIRED = ("rw", "index=on", "redirect_dir=on")
_FORBIDDEN = ("volatile", "fsync=volatile", "metacopy=on", "userxattr")
_CHAMBER_WITHIN_S = 60.0
_ATTRIBUTE = "trusted.gate"
_TREE = "find /bin /etc /root /srv/gate /var -xdev | sort | xargs stat -c '%n %a %u %g %F %h'"
_CONTENT = "find /bin/busybox /etc /root /srv/gate -xdev -type f | sort | xargs sha256sum"


def _disk_features(bench: Bench) -> str:
    def look(stack: Stack) -> str:
        image = stack.place / "features"
        create_disk(image, size_bytes=MIN_DISK_BYTES, loops=stack.loops)
        with opened_disk(stack, image) as disk:
            directory = os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=disk)
            os.setxattr(directory, _ATTRIBUTE, b"kept")
            require(os.getxattr(directory, _ATTRIBUTE) == b"kept", "attributes are lost")
            with os.scandir(directory) as entries:
                # A directory entry that carries its type answers without a further look.
                kinds = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
            os.close(directory)
        require(kinds == {"up": True, "wk": True}, f"entries of the disk: {kinds}")
        return "xfs on a loop device, trusted attributes kept, entries carry their type"

    return str(bench.in_chamber(look, within_s=_CHAMBER_WITHIN_S))


def _options(bench: Bench) -> str:
    with bench.sandbox() as sandbox:
        line = sandbox.says("grep ' / / ' /proc/self/mountinfo")
    options = set(line.split(" - ")[0].split()[5].split(",")) | set(line.split()[-1].split(","))
    missing = [option for option in _REQUIRED if option not in options]
    wrong = [option for option in _FORBIDDEN if option in options]
    require(not missing and not wrong, f"missing {missing}, wrong {wrong}")
    require("overlay" in line, f"the root is no overlay: {line}")
    return ", ".join(sorted(options & {*_REQUIRED, "nosuid", "nodev"}))


def _files(bench: Bench) -> str:
    with bench.sandbox() as sandbox:
        sandbox.says(
            "cd /root; echo new > created; echo other > /srv/gate/overwritten; echo x > gone;"
            "rm gone; mkdir -p deep/er; ln -s created link; sync"
        )
        sandbox.stop()
        found = sandbox.says(
            "cd /root; cat created /srv/gate/overwritten link; ls -d deep/er gone 2>/dev/null; :"
        )
    require(found.split() == ["new", "other", "new", "deep/er"], f"found {found.split()}")
    return "created, overwritten, deleted, linked: kept over a remount"


def _whiteouts(bench: Bench) -> str:
    with bench.sandbox() as sandbox:
        sandbox.says("cd /srv/gate; rm removed-later; rm -r tree; mkdir tree; echo n > tree/new")
        sandbox.stop()
        found = sandbox.says("cd /srv/gate; ls -d removed-later 2>/dev/null; find tree | sort")
    require(found.split() == ["tree", "tree/new"], f"found {found.split()}")
    return "a deleted image file stays gone, a directory made anew shows nothing old"


def _rename(bench: Bench) -> str:
    with bench.sandbox() as sandbox:
        sandbox.says("mv /srv/gate/tree /srv/gate/moved; mv /srv/gate/moved /root/elsewhere")
        sandbox.stop()
        found = sandbox.says(
            "cat /root/elsewhere/one /root/elsewhere/deep/two; ls -d /srv/gate/tree 2>&1 | wc -l;"
            "ls -d /srv/gate/moved 2>/dev/null; :"
        )
    require(found.split() == ["one", "two", "1"], f"found {found.split()}")
    return "a directory of the image was renamed twice, across directories, with its content"


def _permissions(bench: Bench) -> str:
    with bench.sandbox() as sandbox:
        sandbox.says(
            "cd /srv/gate; chmod 751 tree; chown 12:34 tree/one; chmod 6711 owned; chmod 000 noted;"
            "touch -d '2001-02-03 04:05:06' tree/one"
        )
        sandbox.stop()
        found = sandbox.says(
            "cd /srv/gate; stat -c '%a %u %g' tree tree/one owned noted; stat -c %Y tree/one"
        )
        refused = sandbox.run("/bin/cat", "/srv/gate/noted", user={"uid": 1000, "gid": 1000})
    expected = ["751 0 0", "644 12 34", "6711 1000 1001", "0 0 0", "981173106"]
    require(found.splitlines() == expected, f"found {found.splitlines()}")
    require(refused.exit_code != 0, "a file without any permission was read by another user")
    return "modes, owners, set-id bits and times kept; another user is refused"


def _hard_links(bench: Bench) -> str:
    look = (
        "cd /srv/gate/links; stat -c '%i %h' one two three | sort -u; cat one; cat two; cat three"
    )
    with bench.sandbox() as sandbox:
        before = sandbox.says(look)
        sandbox.says("echo more >> /srv/gate/links/two; ln /srv/gate/links/one /root/fourth; sync")
        changed = sandbox.says(look)
        sandbox.stop()
        after = sandbox.says(f"{look}; cat /root/fourth")
    rows = changed.splitlines()
    require(len(before.splitlines()) == 1 + 3, f"not one file from the start: {before}")
    require(rows[0].endswith(" 4"), f"after a change through one name: {rows[:3]}")
    require(rows[1:] == ["linked", "more"] * 3, f"the names differ: {rows[1:]}")
    require(after.splitlines() == [*rows, "linked", "more"], f"after a remount: {after}")
    return "append through one of three names: one inode, four links, also after a remount"


def _copy_up(bench: Bench) -> str:
    with bench.sandbox(disk_bytes=768 * _MIB) as sandbox:
        began = float(sandbox.says("cut -d' ' -f1 /proc/uptime"))
        sandbox.says("chmod 640 /srv/large/file; echo end >> /srv/large/file; sync")
        took_s = float(sandbox.says("cut -d' ' -f1 /proc/uptime")) - began
        sandbox.stop()
        found = sandbox.says(
            f"head -c {LARGE_BYTES} /srv/large/file | sha256sum | cut -d' ' -f1;"
            "tail -c 4 /srv/large/file; stat -c '%a %s' /srv/large/file"
        )
    expected = [large_digest(), "end", f"640 {LARGE_BYTES + 4}"]
    require(found.splitlines() == expected, f"found {found.splitlines()}")
    return f"{LARGE_BYTES // _MIB} MiB copied up in {took_s:.1f} s, every byte as before"


def _copy_up_full(bench: Bench) -> str:
    with bench.sandbox() as sandbox:
        sandbox.says("dd if=/dev/zero of=/root/filler bs=1M count=100 2>/dev/null")
        tried = sandbox.run("/bin/chmod", "640", "/srv/large/file")
        found = sandbox.says(
            "stat -c %a /srv/large/file; sha256sum /srv/large/file; rm /root/filler"
        )
    require(tried.exit_code != 0, "a file larger than the disk was copied up")
    require(found.startswith(f"644\n{large_digest()}"), "the image's file changed")
    return "no room for the copy: refused, the file is as it was"


def _remount(bench: Bench) -> str:
    with bench.sandbox() as sandbox:
        sandbox.says(
            "cd /root; for n in 1 2 3 4 5 6 7 8; do head -c 100000 /dev/urandom > $n; done"
        )
        before = (sandbox.says(_TREE), sandbox.says(_CONTENT))
        for _ in range(3):
            sandbox.stop()
            sandbox.run("/bin/true")
        after = (sandbox.says(_TREE), sandbox.says(_CONTENT))
    changed = set("\n".join(before).splitlines()) ^ set("\n".join(after).splitlines())
    require(not changed, f"changed by remounting: {sorted(changed)[:5]}")
    return f"{len(before[0].splitlines())} entries the same after three remounts"


CHECKS: tuple[Check[Bench], ...] = (
    Check(
        key="rootfs.disk",
        claim="the disk's file system keeps attributes and entry types",
        run=_disk_features,
    ),
    Check(
        key="rootfs.options",
        claim="the root is mounted with index and redirects, never volatile",
        run=_options,
    ),
    Check(key="rootfs.files", claim="created, overwritten and deleted files stay so", run=_files),
    Check(key="rootfs.whiteouts", claim="what was deleted stays deleted", run=_whiteouts),
    Check(key="rootfs.rename", claim="directories of the image can be renamed", run=_rename),
    Check(key="rootfs.permissions", claim="modes, owners and times are kept", run=_permissions),
    Check(
        key="rootfs.hard-links",
        claim="hard links of the image stay one file when it is changed",
        run=_hard_links,
    ),
    Check(key="rootfs.copy-up", claim="a large file can be changed", run=_copy_up),
    Check(
        key="rootfs.copy-up-full",
        claim="a change that does not fit leaves the file as it was",
        run=_copy_up_full,
    ),
    Check(key="rootfs.remount", claim="a remount changes nothing", run=_remount),
)
