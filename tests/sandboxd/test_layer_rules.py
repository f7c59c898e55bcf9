"""What the image specification says of layers, rule by rule; hostile layers are next door."""

import os
import stat
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sandboxd.faults import Refused
from sandboxd.images import unpack
from sandboxd.images.layout import read_layout
from tests.sandboxd.layouts import LIMITS, Fill, add, layer, unpacked, write_layout

pytestmark = pytest.mark.root
D, S, L, F = tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE
Names = list[str]


def directories(archive: tarfile.TarFile, *names: str, mode: int = 0o755) -> None:
    for name in names:
        add(archive, name, type=D, mode=mode)


def lower(archive: tarfile.TarFile) -> None:
    """The tree of the example in the specification."""
    directories(archive, "a", "a/b", "a/b/c")
    add(archive, "a/b/c/bar", b"old")


def tree_of(tmp_path: Path, *fills: Fill) -> Path:
    return unpacked(write_layout(tmp_path / "layout", *map(layer, fills)), tmp_path / "tree")


def names_in(tree: Path) -> Names:
    return sorted(str(path.relative_to(tree)) for path in tree.rglob("*"))


def fill_of(*words: str) -> Fill:
    """A layer of directories (`a/`), whiteouts and files, in this order."""

    def fill(archive: tarfile.TarFile) -> None:
        for word in words:
            if word.endswith("/"):
                directories(archive, word.rstrip("/"))
            else:
                add(archive, word, b"new")

    return fill


@pytest.mark.parametrize(
    ("words", "left"),
    [
        (("a/", "a/b/", "a/b/c/", "a/b/c/foo", "a/.wh..wh..opq"), ["a/b", "a/b/c", "a/b/c/foo"]),
        (("a/", "a/.wh..wh..opq", "a/b/", "a/b/c/", "a/b/c/foo"), ["a/b", "a/b/c", "a/b/c/foo"]),
        (("a/b/c/foo", "a/.wh..wh..opq"), ["a/b", "a/b/c", "a/b/c/foo"]),
        (("a/", "a/b/", "a/b/new", "a/.wh.b"), ["a/b", "a/b/new"]),
        (("a/", "a/.wh.b", "a/b/", "a/b/new"), ["a/b", "a/b/new"]),
        (("a/b/c/bar", "a/b/c/.wh.bar"), ["a/b", "a/b/c", "a/b/c/bar"]),
        (("a/b/c/.wh.bar",), ["a/b", "a/b/c"]),
        (("a/.wh.b", "a/.wh.nothing"), []),
    ],
)
def test_whiteouts_concern_lower_layers_only_wherever_they_stand(
    tmp_path: Path, words: Names, left: Names
) -> None:
    tree = tree_of(tmp_path, lower, fill_of(*words))

    assert names_in(tree) == ["a", *left]
    assert not [file for file in tree.rglob("bar") if file.read_bytes() == b"old"]


def test_a_directory_that_a_whiteout_emptied_has_nothing_of_the_lower_one(tmp_path: Path) -> None:
    def below(archive: tarfile.TarFile) -> None:
        add(archive, "d", type=D, mode=0o700, uid=7, gid=7)
        add(archive, "d/old", b"x")

    tree = tree_of(tmp_path, below, fill_of("d/new", ".wh.d"))

    status = (tree / "d").stat()
    assert names_in(tree) == ["d", "d/new"]
    assert (stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid) == (0o755, 0, 0)


def test_a_whiteout_below_a_directory_that_replaces_a_link_leaves_the_links_target(
    tmp_path: Path,
) -> None:
    def below(archive: tarfile.TarFile) -> None:
        directories(archive, "target")
        add(archive, "target/kept", b"x")
        add(archive, "link", type=S, linkname="target")

    tree = tree_of(tmp_path, below, fill_of("link/.wh.kept", "link/"))

    assert names_in(tree) == ["link", "target", "target/kept"]
    assert not (tree / "link").is_symlink()


def test_a_directory_becomes_a_link_of_its_name(tmp_path: Path) -> None:
    def above(archive: tarfile.TarFile) -> None:
        add(archive, "a", type=S, linkname="elsewhere")
        add(archive, ".wh.a")

    tree = tree_of(tmp_path, lower, above)

    assert (tree / "a").readlink() == Path("elsewhere")


def test_notes_of_the_driver_aufs_are_no_files(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, fill_of(".wh..wh.plnk/", ".wh..wh.plnk/7.9", ".wh..wh.aufs", "file"))

    assert names_in(tree) == ["file"]


@pytest.mark.parametrize("name", [".wh.", ".wh..", ".wh...", "d/.wh..."])
def test_a_whiteout_of_no_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(Refused, match="cannot be unpacked"):
        tree_of(tmp_path, fill_of("d/kept"), fill_of(name))


def test_directories_that_no_entry_describes_belong_to_root_and_only_root_writes(
    tmp_path: Path,
) -> None:
    def fill(archive: tarfile.TarFile) -> None:
        add(archive, "shared", type=D, mode=0o2777, gid=50)
        add(archive, "shared/made/tool", b"x", mode=0o755)
        add(archive, "opt/app/bin/tool", b"x", mode=0o755)

    tree = tree_of(tmp_path, fill)

    for name in ("opt", "opt/app", "opt/app/bin", "shared/made"):
        status = (tree / name).stat()
        assert (stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid) == (0o755, 0, 0), name


@pytest.mark.parametrize(
    ("kind", "fields"),
    [(tarfile.REGTYPE, {}), (S, {"linkname": "/etc/shadow"}), (F, {}), (S, {"linkname": "first"})],
)
def test_a_hard_link_is_a_second_name_of_files_links_and_fifos(
    tmp_path: Path, kind: bytes, fields: dict[str, str]
) -> None:
    def fill(archive: tarfile.TarFile) -> None:
        add(archive, "first", b"", type=kind, mode=0o644, **fields)
        add(archive, "second", type=L, linkname="first")
        add(archive, "third", type=L, linkname="/second")
        add(archive, "third", type=L, linkname="third")

    tree = tree_of(tmp_path, fill)

    status = [(tree / name).lstat() for name in ("first", "second", "third")]
    assert len({(s.st_ino, s.st_mode) for s in status}) == 1
    assert status[0].st_nlink == 3


@pytest.mark.parametrize("target", ["nothing", "directory", "gone"])
def test_a_hard_link_to_nothing_or_to_a_directory_is_refused(tmp_path: Path, target: str) -> None:
    def above(archive: tarfile.TarFile) -> None:
        add(archive, "link", type=L, linkname=target)
        add(archive, ".wh.gone")

    with pytest.raises(Refused, match="a hard link leads to"):
        tree_of(tmp_path, fill_of("directory/", "gone"), above)


def test_names_below_links_are_made_where_the_links_lead_and_never_outside(tmp_path: Path) -> None:
    def fill(archive: tarfile.TarFile) -> None:
        directories(archive, "var", "real")
        add(archive, "var/run", type=S, linkname="/run")
        add(archive, "var/run/x/pid", b"1")
        add(archive, "up", type=S, linkname="../" * 20 + "climbed/up")
        add(archive, "up/file", b"2")
        add(archive, "real/link", type=S, linkname="/real")
        add(archive, "real/link/link", b"in place of the link that led here")

    tree = tree_of(tmp_path, fill)

    assert (tree / "run/x/pid").read_bytes() == b"1"
    assert (tree / "climbed/up/file").read_bytes() == b"2"
    assert (tree / "real/link").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["layout", "tree"]


def test_a_name_below_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="below a name that is not a directory"):
        tree_of(tmp_path, fill_of("file"), fill_of("file/below"))


def test_the_last_of_several_entries_of_a_name_counts(tmp_path: Path) -> None:
    def fill(archive: tarfile.TarFile) -> None:
        add(archive, "d", type=D, mode=0o700, mtime=5)
        add(archive, "d/f", b"first")
        add(archive, "d/kept", type=L, linkname="d/f")
        add(archive, "d/f", b"second", mtime=1.5)
        add(archive, "d", type=D, mode=0o750, mtime=7)

    tree = tree_of(tmp_path, fill)

    assert ((tree / "d/f").read_bytes(), (tree / "d/kept").read_bytes()) == (b"second", b"first")
    assert (tree / "d/f").stat().st_mtime_ns == 1_500_000_000
    assert (stat.S_IMODE((tree / "d").stat().st_mode), (tree / "d").stat().st_mtime) == (0o750, 7)


def test_devices_in_dev_are_left_out_since_a_sandbox_has_its_own(tmp_path: Path) -> None:
    def fill(archive: tarfile.TarFile) -> None:
        directories(archive, "dev")
        add(archive, "dev/null", type=tarfile.CHRTYPE, devmajor=1, devminor=3, mode=0o666)
        add(archive, "dev/vda", type=tarfile.BLKTYPE, devmajor=254)
        add(archive, "dev/fd", type=S, linkname="/proc/self/fd")

    assert names_in(tree_of(tmp_path, fill)) == ["dev", "dev/fd"]


@pytest.mark.parametrize("name", ["null", "srv/dev/null", "device/null"])
def test_a_device_anywhere_else_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(Refused, match="a device node outside /dev"):
        tree_of(tmp_path, lambda a: add(a, name, type=tarfile.CHRTYPE, devmajor=1, devminor=3))


@pytest.mark.parametrize("way", ["gnu", "0.0", "0.1", "1.0"])
def test_sparse_files_of_gnu_tar_have_their_holes(tmp_path: Path, way: str) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        for at in (0, 300_000, 900_000):
            file.seek(at)
            file.write(b"island")
        file.truncate(1_000_000)
    form = ("--format=gnu",) if way == "gnu" else ("--format=posix", f"--sparse-version={way}")
    words = ("tar", "--create", "--sparse", *form, "--directory", str(tmp_path), "sparse")
    packed = subprocess.run(words, capture_output=True, check=True).stdout

    tree = unpacked(write_layout(tmp_path / "layout", packed), tmp_path / "tree")

    assert len(packed) < 100_000
    assert (tree / "sparse").read_bytes() == (tmp_path / "sparse").read_bytes()


def test_a_layer_that_took_over_its_unpacker_could_do_nothing_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the place of the reader: what code in that child may do, whatever a layer made of it."""

    def attempts(*_: object) -> None:
        done = []
        for name, act in _FORBIDDEN.items():
            try:
                act()
                done.append(name)
            except OSError:
                continue
        raise Refused(f"could: {done}, sees: {sorted(os.listdir('/'))}")  # noqa: PTH208

    monkeypatch.setattr(unpack, "_take_layer", attempts)
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/only-this").touch()
    layout = write_layout(tmp_path / "layout", layer(fill_of("file")))

    with pytest.raises(Refused, match=r"could: \[\], sees: \['only-this'\]"):
        unpack.unpack_layers(read_layout(layout).layers, tmp_path / "tree", LIMITS)


_FORBIDDEN: dict[str, Callable[[], object]] = {
    "chroot (SYS_CHROOT)": lambda: os.chroot("/"),
    "mknod (MKNOD)": lambda: os.mknod("/disk", stat.S_IFBLK | 0o600, os.makedev(254, 0)),
    "nice (SYS_NICE)": lambda: os.setpriority(os.PRIO_PROCESS, 0, -10),
    "setuid (SETUID)": lambda: os.setresuid(5, 5, 5),
    "setgid (SETGID)": lambda: os.setresgid(5, 5, 5),
    "capability attributes (SETFCAP)": lambda: os.setxattr(
        "/only-this", "security.capability", b"\1\0\0\2" + bytes(16)
    ),
    "trusted attributes (SYS_ADMIN)": lambda: os.setxattr("/only-this", "trusted.x", b"y"),
}
