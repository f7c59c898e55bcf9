"""Reading, writing and listing files goes through the sandbox, never through the node."""

from pathlib import Path

import pytest

from tests.sandboxd.client import Box, Refusal, new_id

pytestmark = pytest.mark.root


def test_what_is_written_is_read_back(box: Box) -> None:
    written = box.write("/root/note", "笔记\n".encode(), mode=0o600)

    content = box.read("/root/note")

    assert (written.size_bytes, written.replaced) == (7, False)
    assert content.content.decode() == "笔记\n"
    assert (content.size_bytes, content.mode) == (7, 0o600)


def test_a_piece_of_a_file_is_read_from_its_offset(box: Box) -> None:
    box.write("/root/digits", b"0123456789")

    content = box.read("/root/digits", offset=3, limit_bytes=4)

    assert (content.content, content.size_bytes, content.offset) == (b"3456", 10, 3)


def test_a_megabyte_comes_back_uncut(box: Box) -> None:
    raw = bytes(range(256)) * 4096
    box.write("/root/big", raw)

    assert box.read("/root/big", limit_bytes=len(raw)).content == raw


def test_replacing_keeps_the_owner_and_leaves_no_temporary_file(box: Box) -> None:
    box.says("mkdir /srv/d; echo old > /srv/d/f; chown 5:6 /srv/d/f")

    written = box.write("/srv/d/f", b"new")

    assert written.replaced
    assert box.says("cd /srv/d; ls -A; stat -c %u:%g f; cat f") == "f\n5:6\nnew"


def test_parents_are_made_only_when_asked(box: Box, refusal: Refusal) -> None:
    answer = refusal(lambda: box.write("/a/b/c", b"x"))

    box.write("/a/b/c", b"x", create_parents=True)

    assert answer.error == "not_found"
    assert box.read("/a/b/c").content == b"x"


def test_a_symbolic_link_is_followed_inside_the_sandbox(box: Box) -> None:
    box.says("echo old > /root/target; ln -s ../root/target /srv/link")

    box.write("/srv/link", b"new")

    assert box.says("cat /root/target; test -L /srv/link && echo still-a-link") == (
        "newstill-a-link"
    )


def test_a_link_to_a_path_of_the_node_leads_nowhere(
    box: Box, refusal: Refusal, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("secret", encoding="ascii")
    box.says(f"ln -s {tmp_path}/secret /root/link; ln -s /proc/1/root{tmp_path}/secret /root/far")

    assert refusal(lambda: box.read("/root/link")).error == "not_found"
    assert refusal(lambda: box.read("/root/far")).error == "not_found"


@pytest.mark.parametrize("path", ["/root", "/dev/null", "/root/fifo", "/root/socket-like"])
def test_only_regular_files_are_read(box: Box, refusal: Refusal, path: str) -> None:
    box.says("mkfifo /root/fifo; ln -s fifo /root/socket-like")

    assert refusal(lambda: box.read(path)).error == "refused"


def test_a_directory_cannot_be_replaced_by_a_file(box: Box, refusal: Refusal) -> None:
    assert refusal(lambda: box.write("/root", b"x")).error == "refused"
    assert refusal(lambda: box.write("/root/", b"x")).error == "refused"


def test_a_full_disk_refuses_a_write_and_keeps_the_old_file(box: Box, refusal: Refusal) -> None:
    box.write("/root/f", b"old")
    box.shell("cat /dev/zero > /filler")

    answer = refusal(lambda: box.write("/root/f", b"x" * 1_000_000))

    assert answer.error == "refused"
    assert "full" in answer.message
    assert box.read("/root/f").content == b"old"
    assert box.says("ls -A /root | grep -c sandboxd || true") == "0"


def test_a_listing_shows_types_sizes_and_odd_names(box: Box) -> None:
    box.says(
        "cd /srv; echo hi > 'a b'; mkdir d; ln -s x l; mkfifo p; printf x > \"$(printf 'n\\nl')\""
    )

    listing = box.list("/srv")

    assert [(e.name, e.type) for e in listing.entries] == [
        ("a b", "file"),
        ("d", "directory"),
        ("l", "symlink"),
        ("n\nl", "file"),
        ("p", "fifo"),
    ]
    assert listing.entries[0].size_bytes == 3
    assert listing.complete


def test_a_long_listing_is_cut_and_says_so(box: Box) -> None:
    box.says("mkdir /srv/many; cd /srv/many; for i in $(seq 50); do : > $i; done")

    listing = box.list("/srv/many", limit_entries=20)

    assert len(listing.entries) == 20
    assert not listing.complete


def test_writing_is_idempotent(box: Box) -> None:
    operation = new_id()
    first = box.write("/root/f", b"one", operation=operation)
    box.says("echo two > /root/f")

    second = box.write("/root/f", b"one", operation=operation)

    assert second == first
    assert box.says("cat /root/f") == "two"


def test_a_path_must_be_absolute(box: Box) -> None:
    with pytest.raises(ValueError, match="must be absolute"):
        box.read("etc/passwd")


def test_file_access_starts_a_stopped_sandbox(box: Box) -> None:
    box.write("/root/f", b"x")
    box.stop()

    assert box.read("/root/f").content == b"x"
