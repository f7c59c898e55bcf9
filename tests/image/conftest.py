"""Both images, built here once for all tests of this folder on a base that was made here as well.

PERLICA_IMAGE_BASE names another base (such as an archive of an earlier run) and saves a minute.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.conftest import IN_CI
from tests.image.container import Container, Mount
from tools.image import TARGETS, Archive, Workshop

NEEDED = ("buildah", "mmdebstrap", "crun", "unshare")
BASE_VARIABLE = "PERLICA_IMAGE_BASE"
Images = Mapping[str, Archive]
Roots = Mapping[str, Path]
MakeContainer = Callable[..., Container]


@pytest.fixture(scope="session")
def workshop() -> Iterator[Workshop]:
    missing = [program for program in NEEDED if shutil.which(program) is None]
    if missing and not IN_CI:
        pytest.skip(f"needs {', '.join(missing)}: on Debian 'apt-get install' them")
    assert not missing
    # Not below pytest's own folder: users of containers have to pass through to the files.
    with TemporaryDirectory(prefix="perlica-image-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        shop = Workshop(folder)
        try:
            yield shop
        finally:
            shop.close()


@pytest.fixture(scope="session")
def images(workshop: Workshop) -> Images:
    base = os.environ.get(BASE_VARIABLE) or workshop.make_base().reference
    return {target: workshop.build(target, base) for target in TARGETS}


@pytest.fixture(scope="session")
def roots(workshop: Workshop, images: Images) -> Roots:
    """The root file system of each image, as a directory."""
    return {
        target: workshop.unpack(image, workshop.folder / f"root-{target}")
        for target, image in images.items()
    }


@pytest.fixture
def make_container(workshop: Workshop, roots: Roots) -> Iterator[MakeContainer]:
    """Make containers of an image; each is ended and forgotten at the end."""
    made: list[Container] = []
    with TemporaryDirectory(prefix="containers-", dir=workshop.folder) as name:
        folder = Path(name)
        folder.chmod(0o755)

        def make(
            target: str,
            *arguments: str,
            user: int,
            mounts: tuple[Mount, ...] = (),
            is_privileged: bool = False,
        ) -> Container:
            container = Container(
                name=f"perlica-test-{os.getpid()}-{len(made)}",
                root=roots[target],
                folder=folder,
                user=user,
                arguments=arguments,
                mounts=mounts,
                is_privileged=is_privileged,
            )
            made.append(container)
            return container

        yield make
        for container in reversed(made):
            container.stop()
