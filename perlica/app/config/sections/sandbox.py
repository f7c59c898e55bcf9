"""[sandbox]: the node that sandboxes run on, what they may use, and the one image.

A capability: without the section, or with a value of it missing, sandboxes are off and the doctor
says why. A value that is wrong stops the start, as everywhere.
"""

from typing import Annotated

from pydantic import Field

from perlica.app.config.meaning import Meaning
from perlica.app.config.sections.base import MIB, Section
from perlica.app.config.values import AbsolutePath, Digest, NodeName, Seconds, Whole, Word


class SandboxLimitsSection(Section):
    """[sandbox.limits]: of each sandbox; sandboxd has its own ceilings besides."""

    memory_bytes: Annotated[
        Whole,
        Field(ge=16 * MIB, le=2**40),
        Meaning(zh="内存上限，字节", en="memory in bytes", example="536870912"),
    ] = 512 * MIB
    pids: Annotated[
        Whole,
        Field(ge=8, le=65_536),
        Meaning(zh="进程数上限", en="processes", example="256"),
    ] = 256
    cpu_millis: Annotated[
        Whole,
        Field(ge=50, le=256_000),
        Meaning(zh="CPU 上限，千分之一核", en="thousandths of a core", example="1000"),
    ] = 1000
    disk_bytes: Annotated[
        Whole,
        Field(ge=320 * MIB, le=2**44),
        Meaning(zh="磁盘上限，字节", en="disk in bytes", example="1073741824"),
    ] = 1024 * MIB
    nofile: Annotated[
        Whole,
        Field(ge=64, le=1_048_576),
        Meaning(zh="打开文件数上限", en="open files", example="1024"),
    ] = 1024


class SandboxImageSection(Section):
    """[sandbox.image]: what every sandbox is made of; only a whole image switch changes it."""

    reference: Annotated[
        Word,
        Meaning(zh="镜像引用", en="reference of the image", example='"registry.local/perlica/dev"'),
    ]
    digest: Annotated[
        Digest,
        Meaning(
            zh="镜像清单的摘要，sha256: 加 64 位十六进制",
            en="digest of its manifest: sha256: and 64 hexadecimal digits",
            example='"sha256:<64 hex>"',
        ),
    ]
    introduction: Annotated[
        Word,
        Meaning(
            zh="镜像里有什么，创建沙箱时展示",
            en="what the image holds, shown when a sandbox is made",
            example='"Debian 12, gcc, python3"',
        ),
    ]
    revision: Annotated[
        Whole,
        Field(ge=1, le=2**31),
        Meaning(
            zh="修订号，介绍或镜像改动时加一",
            en="revision, raised when introduction or image change",
            example="1",
        ),
    ]


class SandboxSection(Section):
    """[sandbox]: sandboxd's socket, the node's name and the limits of one action."""

    socket: Annotated[
        AbsolutePath,
        Meaning(
            zh="sandboxd 的 Unix 套接字",
            en="sandboxd's Unix socket",
            example='"/run/sandboxd/sandboxd.sock"',
        ),
    ]
    node: Annotated[
        NodeName,
        Meaning(
            zh="节点名，沙箱终生固定在它上面",
            en="name of the node, to which a sandbox is bound for life",
            example='"node-1"',
        ),
    ]
    exec_within_s: Annotated[
        Seconds,
        Field(ge=1, le=21_600),
        Meaning(zh="一条命令的时限，秒", en="seconds that one command may take", example="600"),
    ] = 600.0
    output_limit_bytes: Annotated[
        Whole,
        Field(ge=1024, le=8 * MIB),
        Meaning(
            zh="一条命令保留多少输出，字节",
            en="bytes of a command's output that are kept",
            example="65536",
        ),
    ] = 65_536
    file_limit_bytes: Annotated[
        Whole,
        Field(ge=1024, le=16 * MIB),
        Meaning(
            zh="一次读写文件的上限，字节",
            en="bytes that one read or write of a file may move",
            example="262144",
        ),
    ] = 262_144
    idle_days: Annotated[
        Whole,
        Field(ge=1, le=7),
        Meaning(
            zh="多少天没有触碰就删除，只能缩短",
            en="days without a touch until deletion; can only be shortened",
            example="7",
        ),
    ] = 7
    limits: Annotated[
        SandboxLimitsSection,
        Meaning(zh="每个沙箱的资源上限", en="limits of each sandbox", example="[sandbox.limits]"),
    ] = SandboxLimitsSection()
    image: Annotated[
        SandboxImageSection,
        Meaning(zh="唯一的沙箱镜像", en="the one image", example="[sandbox.image]"),
    ]
