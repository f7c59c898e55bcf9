"""`python3 image_root.py TARGET PACKAGE…`: a root file system of exactly these Debian packages.

Runs inside the build (Dockerfile), with nothing but Python's own library. Packages are fetched by
apt, which checks their signatures, and unpacked without their scripts: no shell, no package manager
and no set-uid program gets in unless it is named. What each package is stands in
var/lib/dpkg/status.d, where scanners for known vulnerabilities look.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

_MERGED = ("bin", "lib", "lib64", "sbin")
_LEFT_OUT = ("man", "info", "locale", "lintian", "bash-completion", "zsh", "doc/*/changelog*")


def main(arguments: list[str]) -> int:
    """Build the root; exit code 2 without arguments."""
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    root = Path(arguments[0])
    _merge_directories(root)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["apt-get", "download", "--quiet", *arguments[1:]], cwd=folder, check=True)
        for archive in sorted(Path(folder).glob("*.deb")):
            _unpack(archive, root)
            _record(archive, root)
    subprocess.run(["ldconfig", "-r", str(root)], check=True)
    return 0


def _merge_directories(root: Path) -> None:
    """/bin and its like are links into /usr, as Debian has them since release 12."""
    for name in _MERGED:
        (root / "usr" / name).mkdir(parents=True, exist_ok=True)
        link = root / name
        if not link.is_symlink():
            link.symlink_to(Path("usr") / name)


def _unpack(archive: Path, root: Path) -> None:
    patterns = [f"--exclude=./usr/share/{name}" for name in _LEFT_OUT]
    unpack = ["tar", "--extract", "--directory", str(root), "--keep-directory-symlink", *patterns]
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive], stdout=subprocess.PIPE) as files:
        subprocess.run(unpack, stdin=files.stdout, check=True)
    if files.returncode != 0:
        raise subprocess.CalledProcessError(files.returncode, files.args)


def _record(archive: Path, root: Path) -> None:
    control = subprocess.run(["dpkg-deb", "--field", archive], capture_output=True, check=True)
    status = root / "var/lib/dpkg/status.d" / archive.name.partition("_")[0]
    status.parent.mkdir(parents=True, exist_ok=True)
    status.write_bytes(control.stdout)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
