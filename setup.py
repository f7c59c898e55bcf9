"""What setup.cfg cannot describe: the packages with sql/ among them, and sandboxd's C parts.

sql/ is a room of its own in the checkout and `perlica/_sql` once installed.
"""

from glob import glob

from setuptools import Extension, find_packages, setup

# The mount API, loop devices and credentials, for the daemon itself.
NATIVE = Extension(
    "sandboxd._native",
    sources=sorted(glob("sandboxd/native/*.c")),  # noqa: PTH207 (relative, for the build)
    depends=sorted(glob("sandboxd/native/*.h")),  # noqa: PTH207
    extra_compile_args=[
        "-std=c11",
        "-O2",
        "-Wall",
        "-Wextra",
        "-fstack-protector-strong",
        "-U_FORTIFY_SOURCE",
        "-D_FORTIFY_SOURCE=2",
    ],
    extra_link_args=["-Wl,-z,relro,-z,now"],
)

# A program, not a module: it runs inside a sandbox, where no library can be relied on.
# Built as an extension only because that is how a wheel carries compiled code.
INSIDE = Extension(
    "sandboxd._files",
    sources=["sandboxd/inside/files.c"],
    depends=sorted(glob("sandboxd/inside/*.h")),  # noqa: PTH207
    # Nothing of where it was built: a gate report names its digest, wherever it was installed from.
    extra_compile_args=[
        "-std=c11",
        "-O2",
        "-g0",
        "-Wall",
        "-Wextra",
        "-ffreestanding",
        "-fvisibility=hidden",
        "-fno-lto",
        "-fno-stack-protector",
        "-fno-stack-clash-protection",
        "-fno-tree-loop-distribute-patterns",
        "-fcf-protection=none",
        "-U_FORTIFY_SOURCE",
    ],
    extra_link_args=[
        "-nostdlib",
        "-fno-lto",
        "-Wl,-e,sandboxd_files_start",
        "-Wl,-s",
        "-Wl,--build-id=none",
        "-Wl,-Bsymbolic",
        "-Wl,-z,noexecstack",
        "-Wl,-z,relro,-z,now",
    ],
)

ROOMS = ("perlica", "actors", "sandboxd", "gate")

setup(
    packages=[*find_packages(include=[f"{room}*" for room in ROOMS]), "perlica._sql"],
    package_dir={"perlica._sql": "sql"},
    package_data={
        "perlica": [f"**/*.{kind}" for kind in ("toml", "json", "html", "css", "js", "svg")],
        "perlica._sql": ["*.sql"],
        "gate": ["native/**/*.[ch]", "reports/*.json", "reports/*.md"],
    },
    ext_modules=[NATIVE, INSIDE],
)
