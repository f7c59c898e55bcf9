"""The doctor's sentences in Chinese, for those who ask with `--lang zh`.

The checks speak English; here each of their sentences stands once more, as a pattern whose groups
are the facts in it (names, numbers, commands), which stay as they are.
"""

import re
from typing import Final

from sandboxd.finding import Finding

_MARKS: Final = {"ok": "正常", "warning": "注意", "failure": "问题"}

_SENTENCES: Final = tuple(
    (re.compile(pattern, re.DOTALL), said)
    for pattern, said in (
        # subjects
        (r"privileges", "权限"),
        (r"kernel", "内核"),
        (r"file system (\S+)", "文件系统 {0}"),
        (r"loop devices", "loop 设备"),
        (r"seccomp", "seccomp"),
        (r"user namespaces", "用户命名空间"),
        (r"control groups", "控制组"),
        (r"freezer", "freezer 控制器"),
        (r"program (\S+)", "程序 {0}"),
        (r"native part (\S+)", "本机部件 {0}"),
        (r"host ids", "主机 id"),
        (r"state directory", "状态目录"),
        (r"run directory", "运行目录"),
        (r"images", "镜像"),
        (r"daemon", "守护进程"),
        (r"clock", "时钟"),
        (r"apparmor", "AppArmor"),
        (r"registry (\S+)", "镜像仓库 {0}"),
        (r"credential file", "凭据文件"),
        (r"tls", "TLS"),
        (r"egress", "出网"),
        (r"egress (\S+)", "出网 {0}"),
        # what was found
        (r"uid (\d+), missing: nothing", "uid {0}，不缺能力"),
        (r"uid (\d+), missing: (.+)", "uid {0}，缺少能力 {1}"),
        (r"known to the kernel", "内核支持"),
        (r"as a module or missing", "作为模块存在，或者没有"),
        (r"filters can answer with an error", "过滤器可以返回错误"),
        (r"available", "可用"),
        (r"mounted", "已挂载"),
        (r"missing", "没有"),
        (r"(.+), missing controllers: none", "{0}，控制器齐全"),
        (r"(.+), missing controllers: (.+)", "{0}，缺少控制器 {1}"),
        (r"not found", "没有找到"),
        (r"built", "已编译"),
        (r"not built for this Python", "没有为这个 Python 编译"),
        (r"(\d+) to (\d+)", "{0} 到 {1}"),
        (r"(\d+) to (\d+) overlap with (.+)", "{0} 到 {1}，与 {2} 的范围重叠"),
        (r"(\S+), (\d+) MiB free", "{0}，还剩 {1} MiB"),
        (
            r"it lies in memory: sandboxes do not survive a restart of the node",
            "在内存里：节点重启后沙箱就没有了",
        ),
        (r"(\S+) on a tmpfs", "{0}，在 tmpfs 上"),
        (
            r"(\S+) is on (\S+): outputs that were not acknowledged are lost when the daemon .+",
            "{0} 在 {1} 上：守护进程被杀死时，还没有取走的输出会丢失",
        ),
        (r"(\d+) on this node", "本节点有 {0} 个"),
        (r"none: no sandbox can be made", "一个也没有：创建不了沙箱"),
        (r"no answer on (\S+) \((.+)\)", "{0} 没有应答（{1}）"),
        (
            r"version (\S+) answers, (\d+) sandboxes, epoch (\S+)",
            "版本 {0} 有应答，{1} 个沙箱，epoch {2}",
        ),
        (r"synchronised", "已同步"),
        (r"not synchronised: times in records may be wrong", "没有同步：记录里的时间可能不对"),
        (r"enabled", "已启用"),
        (
            r"not in use: user namespace and seccomp contain alone",
            "没有启用：由用户命名空间和 seccomp 隔离",
        ),
        (r"answers", "有应答"),
        (r"does not answer \((.+)\)", "没有应答（{0}）"),
        (r"(\S+) is missing or open to others", "{0} 不存在，或别的用户能读"),
        (r"a certificate or key cannot be used \((.+)\)", "证书或私钥不能用（{0}）"),
        (r"(\d+) clients, certificate valid for (\S+) days", "{0} 个客户端，证书还有 {1} 天有效"),
        (r"off: sandboxes have no network", "关闭：沙箱没有网络"),
        (
            r"test_only_addresses lets sandboxes reach addresses that are not public",
            "test_only_addresses 让沙箱能连到非公网地址",
        ),
        (r"resolves to public addresses", "解析到公网地址"),
        # what to do
        (r"run as root with CAP_(.+)", "以 root 运行，并具备 CAP_{0}"),
        (
            r"idmapped overlay layers need Linux 5.19 or later",
            "overlay 层的 idmap 挂载需要 Linux 5.19 或更新",
        ),
        (r"modprobe (\S+), or use a kernel that has it", "modprobe {0}，或换用支持它的内核"),
        (r"modprobe loop", "modprobe loop"),
        (r"use a kernel with CONFIG_SECCOMP_FILTER", "换用带 CONFIG_SECCOMP_FILTER 的内核"),
        (r"sysctl (\S+)", "sysctl {0}"),
        (
            r"mount the version 1 freezer hierarchy, or use version 2",
            "挂载 v1 的 freezer 层级，或改用 v2",
        ),
        (
            r"enable them on the kernel command line or in systemd",
            "在内核命令行或 systemd 里启用它们",
        ),
        (r"apt install (\S+)", "apt install {0}"),
        (r"install the package again with a C compiler", "装好 C 编译器后重新安装本程序"),
        (
            r"set first_host_id to a range that nobody else has",
            "把 first_host_id 改到没有别人使用的范围",
        ),
        (r"make it writable, with at least (\d+) MiB free", "让它可写，并至少留出 {0} MiB"),
        (r"set state_dir to a directory on a disk", "把 state_dir 设在磁盘上的目录"),
        (
            r"set run_dir to a directory on a tmpfs, such as /run on most systems",
            "把 run_dir 设在 tmpfs 上的目录，多数系统的 /run 就是",
        ),
        (r"sandboxd image import DIRECTORY", "sandboxd image import 目录"),
        (r"start it: sandboxd serve", "启动它：sandboxd serve"),
        (r"run a time service, such as chrony", "运行时间同步服务，例如 chrony"),
        (
            r"images that are here already still work; see that it can be reached",
            "已有的镜像照常可用；检查网络为什么连不上它",
        ),
        (r"mount it with mode 0400", "以 0400 权限挂载"),
        (
            r"give readable PEM files whose key and certificate belong together",
            "给出可读、互相匹配的 PEM 私钥和证书",
        ),
        (r"renew the certificate and restart sandboxd", "更换证书后重启 sandboxd"),
        (r"remove it on every node that is not for tests", "在非测试的节点上去掉它"),
        (
            r"correct the name, or see why the node's resolver answers so",
            "改正名字，或检查节点的域名解析",
        ),
    )
)


def in_chinese(sentence: str) -> str:
    """The sentence in Chinese; what has no such form (a path, a version) stays as it is."""
    for pattern, said in _SENTENCES:
        found = pattern.fullmatch(sentence)
        if found:
            return said.format(*found.groups())
    return sentence


def chinese_line(finding: Finding) -> str:
    """A finding for a terminal, in Chinese."""
    subject, message = in_chinese(finding.subject), in_chinese(finding.message)
    remedy = f" → {in_chinese(finding.remedy)}" if finding.remedy else ""
    return f"{_MARKS[finding.level]}  {subject}：{message}{remedy}"
