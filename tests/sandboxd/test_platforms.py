"""For which machine an image is, and the layouts that other tools write."""

import gzip
import hashlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sandboxd.config import Registry
from sandboxd.faults import NotFound, Refused
from sandboxd.images import platforms
from sandboxd.images.layout import read_layout
from sandboxd.images.platforms import architecture, choose
from sandboxd.images.pull import pull_layout
from sandboxd.images.reference import parse_reference
from tests.sandboxd.layouts import one_file, unpacked, write_layout, zstd

pytestmark = pytest.mark.root
INDEX = "application/vnd.oci.image.index.v1+json"
DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
NAME = "org.opencontainers.image.ref.name"


def layout_of(tmp_path: Path, **config: object) -> tuple[Path, dict[str, Any]]:
    """A layout of one image and its descriptor."""
    directory = write_layout(tmp_path / "layout", one_file("file", b"x"), config=config or None)
    (described,) = json.loads((directory / "index.json").read_bytes())["manifests"]
    return directory, described


def put(directory: Path, document: object, kind: str = INDEX) -> dict[str, Any]:
    raw = json.dumps(document).encode()
    name = hashlib.sha256(raw).hexdigest()
    (directory / "blobs/sha256" / name).write_bytes(raw)
    return {"mediaType": kind, "digest": f"sha256:{name}", "size": len(raw)}


def list_in(directory: Path, *described: dict[str, Any]) -> None:
    (directory / "index.json").write_text(json.dumps({"manifests": described}))


def other(directory: Path, **platform: str) -> dict[str, Any]:
    """A descriptor of an image for another machine."""
    return put(directory, {"of": platform}, "application/vnd.oci.image.manifest.v1+json") | {
        "platform": platform
    }


def here(**more: str) -> dict[str, str]:
    return {"os": "linux", "architecture": architecture()} | more


def test_one_image_under_two_tags_is_one_image(tmp_path: Path) -> None:
    directory, image = layout_of(tmp_path)
    tagged = [image | {"annotations": {NAME: tag}} for tag in ("1.0", "latest")]
    list_in(directory, *tagged)

    assert read_layout(directory).digest == image["digest"]
    assert read_layout(directory, wanted=image["digest"]).reference == "1.0"


def test_two_images_for_this_machine_must_be_told_apart(tmp_path: Path) -> None:
    directory, image = layout_of(tmp_path)
    list_in(directory, image, other(directory, **here()))

    with pytest.raises(NotFound, match="holds 2 images"):
        read_layout(directory)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"architecture": "riscv64"}, "linux/riscv64"),
        ({"os": "windows"}, f"windows/{architecture()}"),
        ({"variant": "v99"}, f"linux/{architecture()}/v99"),
        ({"architecture": None, "os": None}, r"\?/\?"),
    ],
)
def test_an_image_for_another_machine_is_refused_and_says_for_which(
    tmp_path: Path, said: dict[str, object], words: str
) -> None:
    directory, _ = layout_of(tmp_path, **said)

    with pytest.raises(Refused, match=f"is for {words}, this node is linux/{architecture()}"):
        read_layout(directory)


@pytest.mark.parametrize("kind", [INDEX, DOCKER_LIST])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_nested_indexes_lead_to_this_machines_image(tmp_path: Path, kind: str, depth: int) -> None:
    directory, image = layout_of(tmp_path)
    strangers = [
        other(directory, os="windows", architecture=architecture(), **{"os.version": "10.0.1"}),
        other(directory, os="unknown", architecture="unknown"),
        other(directory, os="linux", architecture="s390x"),
    ]
    found = image | {"platform": here(**{"os.version": "6.1", "os.features": "x"})}
    for _ in range(depth):
        found = put(directory, {"mediaType": kind, "manifests": [*strangers, found]}, kind)
    list_in(directory, found | {"annotations": {NAME: "app:1"}})

    assert read_layout(directory).digest == image["digest"]
    assert read_layout(directory).reference == "app:1"
    assert read_layout(directory, wanted=found["digest"]).digest == image["digest"]
    assert read_layout(directory, wanted=image["digest"]).digest == image["digest"]


def test_an_index_that_leads_to_an_index_without_end_is_refused(tmp_path: Path) -> None:
    directory, found = layout_of(tmp_path)
    for _ in range(6):
        found = put(directory, {"mediaType": INDEX, "manifests": [found]})
    list_in(directory, found)

    with pytest.raises(Refused, match="an index leads to an index"):
        read_layout(directory)


def test_an_index_without_an_image_for_this_machine_says_so(tmp_path: Path) -> None:
    directory, _ = layout_of(tmp_path)
    index = {"mediaType": INDEX, "manifests": [other(directory, os="linux", architecture="mips")]}
    list_in(directory, put(directory, index))

    with pytest.raises(NotFound, match=f"no such image for linux/{architecture()}"):
        read_layout(directory)


def test_of_several_variants_the_plainest_that_runs_here_is_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cpu = tmp_path / "cpuinfo"
    cpu.write_text("flags\t\t: cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3 avx\n")
    monkeypatch.setattr(platforms, "_CPU", cpu)
    monkeypatch.setattr(platforms, "architecture", lambda: "amd64")
    amd = {"os": "linux", "architecture": "amd64"}
    v2, v3 = ({"digest": v, "platform": amd | {"variant": v}} for v in ("v2", "v3"))
    plain = {"digest": "plain", "platform": amd}

    assert choose([v3, v2, plain]) == [plain]
    assert choose([v3, v2]) == [v2]
    assert choose([v3]) == []


@pytest.mark.parametrize("packed", [bytes, gzip.compress, zstd])
@pytest.mark.parametrize(
    "kind",
    [
        "application/vnd.oci.image.layer.v1.tar+gzip",
        "application/vnd.oci.image.layer.nondistributable.v1.tar+zstd",
        "application/vnd.docker.image.rootfs.diff.tar",
        "application/vnd.docker.image.rootfs.diff.tar.gzip",
        "application/vnd.docker.image.rootfs.diff.tar.zstd",
    ],
)
def test_a_layer_is_read_as_it_is_packed_whatever_its_label_says(
    tmp_path: Path, kind: str, packed: Any
) -> None:
    tar = one_file("file", b"x" * 5000)
    directory = write_layout(tmp_path / "layout", tar)
    (described,) = json.loads((directory / "index.json").read_bytes())["manifests"]
    blobs = directory / "blobs/sha256"
    manifest = json.loads((blobs / described["digest"][7:]).read_bytes())
    raw = packed(tar)
    name = hashlib.sha256(raw).hexdigest()
    (blobs / name).write_bytes(raw)
    manifest["layers"] = [{"mediaType": kind, "digest": f"sha256:{name}", "size": len(raw)}]
    list_in(directory, put(directory, manifest, described["mediaType"]))

    tree = unpacked(directory, tmp_path / "tree")

    assert (tree / "file").read_bytes() == b"x" * 5000


def test_what_the_image_says_of_commands_is_kept(tmp_path: Path) -> None:
    said = {"Env": ["PATH=/opt/bin", "A=1", "A=x=y", "NOT_ONE"], "WorkingDir": "srv", "User": "me"}
    directory, _ = layout_of(tmp_path, config=said)

    base = read_layout(directory).base

    assert dict(base.env) == {"PATH": "/opt/bin", "A": "x=y"}
    assert (base.working_dir, base.user) == ("/srv", "me")


@pytest.mark.parametrize(
    "said", [{"Env": "PATH=/bin"}, {"Env": [7]}, {"User": "a\nb"}, {"WorkingDir": ["/"]}]
)
def test_a_configuration_of_another_shape_is_refused(
    tmp_path: Path, said: dict[str, object]
) -> None:
    directory, _ = layout_of(tmp_path, config=said)

    with pytest.raises(Refused):
        read_layout(directory)


def test_a_manifest_that_is_not_the_one_the_digest_names_is_never_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in for skopeo: the daemon hashes what comes, whatever the program has checked."""
    document = {"layers": [{"size": 10}], "annotations": {"from": "a registry that lies"}}
    program = tmp_path / "skopeo"
    program.write_text(f"#!/bin/sh\n[ $1 = copy ] && echo copied > {tmp_path}/copied\n")
    program.chmod(0o755)
    with program.open("a") as file:
        file.write(f"cat <<'END'\n{json.dumps(document)}\nEND\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    honest = hashlib.sha256(f"{json.dumps(document)}\n".encode()).hexdigest()

    def pull(digest: str) -> str:
        reference = parse_reference(f"registry.example/app@sha256:{digest}")
        return pull_layout(
            reference,
            Registry(host="registry.example"),
            into=tmp_path / "into",
            limit_bytes=1000,
            progress=lambda *_: None,
        )

    with pytest.raises(Refused, match="another manifest than the digest names"):
        pull("0" * 64)
    assert not (tmp_path / "copied").exists()
    assert pull(honest) == f"sha256:{honest}"


@pytest.mark.skipif(shutil.which("umoci") is None, reason="umoci is not installed")
def test_a_layout_that_umoci_made_is_read(tmp_path: Path) -> None:
    image = tmp_path / "made"
    for words in (
        ("init", "--layout", str(image)),
        ("new", "--image", f"{image}:app"),
        ("config", "--image", f"{image}:app", "--config.env", "A=b", "--config.user", "me:team"),
        ("tag", "--image", f"{image}:app", "app2"),
        ("insert", "--image", f"{image}:app2", str(Path(__file__)), "/here"),
    ):
        subprocess.run(["umoci", *words], check=True, capture_output=True)
    (digest,) = [
        described["digest"]
        for described in json.loads((image / "index.json").read_bytes())["manifests"]
        if described["annotations"][NAME] == "app2"
    ]

    found = read_layout(image, wanted=digest)

    assert (found.reference, found.base.user, dict(found.base.env)["A"]) == ("app2", "me:team", "b")
