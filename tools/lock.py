"""`python -m tools.lock [--upgrade]`: resolve tools/requirements/*.in into *.txt with hashes.

Called by `make lock`. Uses pip-compile from an environment of its own and the public index that
pip uses by default, so that no setting of one machine gets into the files. The hashes of all
wheels of a version are kept, so one file serves every Python and processor that has a wheel.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path("tools/requirements")
# What goes into one environment must agree: each file is resolved within the ones named behind it.
WITHIN = {
    "build": (),
    "run": (),
    "demo": ("run",),
    "cluster": ("run",),
    "dev": ("build", "run", "demo"),
    "lock": ("build",),
}
_OPTIONS = (
    "--generate-hashes",
    "--allow-unsafe",
    "--strip-extras",
    "--no-emit-index-url",
    "--no-emit-trusted-host",
    "--no-emit-find-links",
    "--quiet",
)


def main() -> int:
    """Write every lock file; further arguments go to pip-compile."""
    environment = _neutral_environment()
    with tempfile.TemporaryDirectory(prefix="perlica-lock-") as folder:
        python = _install_compiler(Path(folder), environment)
        for name, others in WITHIN.items():
            print(f"  {name}.in -> {name}.txt", flush=True)
            command = [python, "-m", "piptools", "compile", *_OPTIONS, *sys.argv[1:]]
            command += [f"--constraint={other}.txt" for other in others]
            command += ["--output-file", f"{name}.txt", f"{name}.in"]
            subprocess.run(command, cwd=FOLDER, env=environment, check=True)
    return 0


def _install_compiler(folder: Path, environment: dict[str, str]) -> str:
    """Return the interpreter of a fresh environment that holds pip-compile, itself locked."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = str(folder / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet", "--require-hashes"]
    install += ["-r", str(FOLDER / "lock.txt")]
    subprocess.run(install, env=environment, check=True)
    return python


def _neutral_environment() -> dict[str, str]:
    """The environment without this machine's choice of indexes and wheels; its network stays."""
    chosen = {"PIP_FIND_LINKS", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CONSTRAINT"}
    kept = {name: value for name, value in os.environ.items() if name not in chosen}
    return {**kept, "PIP_CONFIG_FILE": os.devnull, "CUSTOM_COMPILE_COMMAND": "make lock"}


if __name__ == "__main__":
    sys.exit(main())
