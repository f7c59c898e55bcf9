"""[sandbox]: the node that sandboxes run on, what they may use, and the one image.

A capability: without the section, or with a value of it missing, sandboxes are off and the doctor
says why. A value that is wrong stops the start, as everywhere.
"""

from typing import Annotated, Literal

from pydantic import Field

from perlica.app.config.meaning import Meaning
from perlica.app.config.sections.base import MIB, Section
from perlica.app.config.values import (
    AbsolutePath,
    Digest,
    HostAndPort,
    NodeName,
    Seconds,
    Whole,
    Word,
)


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


class SandboxNodeSection(Section):
    """[[sandbox.nodes]]: one more node beside the first."""

    name: Annotated[
        NodeName,
        Meaning(zh="节点名", en="name of the node", example='"node-2"'),
    ]
    socket: Annotated[
        AbsolutePath,
        Meaning(
            zh="那个节点的 sandboxd 套接字",
            en="that node's sandboxd socket",
            example='"/run/sandboxd-2/sandboxd.sock"',
        ),
    ]


class SandboxRemoteNodeSection(Section):
    """[[sandbox.remote_nodes]]: a node on another machine, reached with mutual TLS."""

    name: Annotated[
        NodeName,
        Meaning(zh="节点名", en="name of the node", example='"node-3"'),
    ]
    address: Annotated[
        HostAndPort,
        Meaning(
            zh="sandboxd 的 主机:端口",
            en="host:port of its sandboxd",
            example='"node-3.internal:7443"',
        ),
    ]
    server_name: Annotated[
        NodeName,
        Meaning(
            zh="它的证书上必须有的名字",
            en="name that its certificate must show",
            example='"node-3.internal"',
        ),
    ]
    authority_file: Annotated[
        AbsolutePath,
        Meaning(
            zh="签发双方证书的机构（PEM）",
            en="authority of both sides' certificates (PEM)",
            example='"/etc/perlica/sandboxd/ca.pem"',
        ),
    ]
    certificate_file: Annotated[
        AbsolutePath,
        Meaning(
            zh="本服务的证书（PEM）",
            en="this service's certificate (PEM)",
            example='"/etc/perlica/sandboxd/perlica.pem"',
        ),
    ]
    key_file: Annotated[
        AbsolutePath,
        Meaning(
            zh="本服务证书的私钥（PEM）",
            en="the key of that certificate (PEM)",
            example='"/etc/perlica/secrets/sandboxd-key.pem"',
        ),
    ]


class SandboxSection(Section):
    """[sandbox]: sandboxd's socket, the node's name and the limits of one action.

    `socket` and `node` name the first node; `nodes` and `remote_nodes` the others, if there are
    any.
    """

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
    network: Annotated[
        Literal["none", "egress"],
        Meaning(
            zh="新沙箱的网络：none 没有；egress 经 sandboxd 的白名单出去",
            en="network of new sandboxes: none, or egress through sandboxd's allow-list",
            example='"none"',
        ),
    ] = "none"
    gate_report: Annotated[
        AbsolutePath | None,
        Meaning(
            zh="节点通过 rootfs 闸门的报告（JSON）；没有时只有演示模式能用沙箱",
            en="report (JSON) that the nodes passed the rootfs gate; without it sandboxes are for "
            "the demo mode only",
            example='"/etc/perlica/gate-report.json"',
        ),
    ] = None
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
    expire_after_due_s: Annotated[
        Seconds,
        Field(ge=0, le=86_400),
        Meaning(
            zh="到期持续多少秒（单调时钟）后才删除，以防系统时钟跳变",
            en="seconds that a sandbox must stay due before its deletion, lest the clock jumped",
            example="3600",
        ),
    ] = 3_600.0
    look_every_s: Annotated[
        Seconds,
        Field(ge=0.02, le=30),
        Meaning(
            zh="每隔多少秒查看一次各节点",
            en="seconds between two looks at each node",
            example="30",
        ),
    ] = 30.0
    loss_after_s: Annotated[
        Seconds,
        Field(ge=0.1, le=604_800),
        Meaning(
            zh="节点不间断失联多少秒才判定失联",
            en="seconds of unbroken silence until a node counts as unreachable",
            example="900",
        ),
    ] = 900.0
    loss_looks: Annotated[
        Whole,
        Field(ge=3, le=100_000),
        Meaning(
            zh="判定失联至少要有多少次查看",
            en="looks that a verdict of silence needs at least",
            example="20",
        ),
    ] = 20
    limits: Annotated[
        SandboxLimitsSection,
        Meaning(zh="每个沙箱的资源上限", en="limits of each sandbox", example="[sandbox.limits]"),
    ] = SandboxLimitsSection()
    image: Annotated[
        SandboxImageSection,
        Meaning(zh="唯一的沙箱镜像", en="the one image", example="[sandbox.image]"),
    ]
    nodes: Annotated[
        tuple[SandboxNodeSection, ...],
        Field(max_length=32),
        Meaning(zh="其他节点", en="further nodes", example="[[sandbox.nodes]]"),
    ] = ()
    remote_nodes: Annotated[
        tuple[SandboxRemoteNodeSection, ...],
        Field(max_length=32),
        Meaning(
            zh="其他机器上的节点", en="nodes on other machines", example="[[sandbox.remote_nodes]]"
        ),
    ] = ()

    @property
    def node_names(self) -> tuple[str, ...]:
        """Every node, the first one first."""
        local = (node.name for node in self.nodes)
        return (self.node, *local, *(node.name for node in self.remote_nodes))
