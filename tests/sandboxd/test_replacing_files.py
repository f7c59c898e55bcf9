"""Files that are replaced, links that are written through, and where the limits lie exactly."""

import pytest

from sandboxd import wire
from tests.sandboxd.client import Box, Refusal

pytestmark = pytest.mark.root


def test_a_file_that_is_replaced_keeps_mode_owner_and_attributes(box: Box) -> None:
    box.says("cd /root; echo 1 > script; chmod 755 script; echo 1 > key; chmod 600 key")
    box.says("chown 5:6 /root/key; setfattr -n user.note -v kept /root/key || true")

    for name in ("script", "key", "new"):
        box.write(f"/root/{name}", b"2")

    assert box.says("cd /root; stat -c '%a %u:%g' script key new").splitlines() == [
        "755 0:0",
        "600 5:6",
        "644 0:0",
    ]


def test_a_mode_that_is_asked_for_is_given_also_to_a_file_that_is_replaced(box: Box) -> None:
    box.says("echo 1 > /root/f; chmod 600 /root/f")

    box.write("/root/f", b"2", mode=0o755)

    assert box.says("stat -c %a /root/f") == "755"


def test_a_link_that_leads_to_nothing_yet_is_written_through(box: Box) -> None:
    box.says("cd /root; mkdir d; ln -s d/later near; ln -s /root/d/far far; ln -s near nearer")
    box.says("mkdir /root/sub; ln -s ../d/up /root/sub/up")

    for name in ("nearer", "far", "sub/up"):
        assert not box.write(f"/root/{name}", name.encode()).replaced

    assert box.says("cd /root/d; for f in later far up; do cat $f; echo; done").split() == [
        *("nearer", "far", "sub/up"),
    ]
    assert box.says("cd /root; test -L near && test -L nearer && test -L far && echo links")


def test_a_link_into_a_directory_that_does_not_exist_is_refused_by_name(
    box: Box, refusal: Refusal
) -> None:
    box.says("ln -s none/file /root/link; ln -s b /root/a; ln -s a /root/b")

    answer = refusal(lambda: box.write("/root/link", b"x"))
    circle = refusal(lambda: box.write("/root/a", b"x"))
    box.write("/root/link", b"made", create_parents=True)

    assert (answer.error, circle.error) == ("refused", "refused")
    assert "a symbolic link into a directory that does not exist" in answer.message
    assert "too many symbolic links" in circle.message
    assert box.says("cat /root/none/file; test -L /root/link && echo; echo link") == "made\nlink"


def test_a_file_of_exactly_the_limit_is_taken_and_one_byte_more_is_refused_by_name(
    box: Box, refusal: Refusal
) -> None:
    for size in (wire.MAX_FILE_BYTES - 1, wire.MAX_FILE_BYTES):
        assert box.write("/root/big", b"x" * size).size_bytes == size

    answer = refusal(lambda: box.write("/root/big", b"x" * (wire.MAX_FILE_BYTES + 1)))

    assert (answer.error, str(wire.MAX_FILE_BYTES) in answer.message) == ("refused", True)
    assert box.read("/root/big", limit_bytes=wire.MAX_FILE_BYTES).content == b"x" * size


@pytest.mark.parametrize("more", [0, 1, 2])
def test_standard_input_has_exactly_its_limit(more: int) -> None:
    given = {"operation": "operation-1", "epoch": 1, "instance": "0" * 32, "argv": ("true",)}
    content = wire.encode_bytes(bytes(wire.MAX_STDIN_BYTES + more))

    if more:
        with pytest.raises(ValueError, match="stdin must be at most"):
            wire.ExecRequest.model_validate(given | {"stdin_base64": content})
    else:
        wire.ExecRequest.model_validate(given | {"stdin_base64": content})


def test_the_size_of_base64_is_the_size_of_its_bytes() -> None:
    for size in range(20):
        assert wire.size_of_base64(wire.encode_bytes(bytes(size))) == size
