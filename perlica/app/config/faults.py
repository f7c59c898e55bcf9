"""The table of faults: each code with what is wrong and what to do, in both languages.

Codes are stable: `check-config --json` and the doctor print them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from perlica.domain.texts import Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One way in which a value, a relation or the file itself is wrong."""

    code: str
    wrong: Text
    remedy: Text


def _fault(code: str, wrong: tuple[str, str], remedy: tuple[str, str]) -> Fault:
    return Fault(
        code=code,
        wrong=Text(zh=wrong[0], en=wrong[1]),
        remedy=Text(zh=remedy[0], en=remedy[1]),
    )


_VALUES = (
    _fault(
        "path_not_absolute",
        ("不是绝对路径", "is no absolute path"),
        (
            "写以 / 开头的路径；密钥本身不写在这里，要放进文件",
            "Write a path that begins with /; a secret itself never stands here but in a file",
        ),
    ),
    _fault(
        "path_bad",
        ("路径太长或含有空字符", "is too long for a path or holds a NUL"),
        ("写一个普通的路径", "Write an ordinary path"),
    ),
    _fault(
        "path_has_dots",
        ("路径里有 ..", "has .. in it"),
        ("写展开后的路径", "Write the path without .."),
    ),
    _fault(
        "address_bad",
        ("不是完整的地址", "is no whole address"),
        ("写成 协议://主机:端口/路径", "Write scheme://host:port/path"),
    ),
    _fault(
        "address_not_http",
        ("协议不是 http 或 https", "is neither http nor https"),
        ("写以 https:// 开头的地址", "Write an address that begins with https://"),
    ),
    _fault(
        "address_not_ws",
        ("协议不是 ws 或 wss", "is neither ws nor wss"),
        ("写成 ws://127.0.0.1:3001 的样子", "Write it like ws://127.0.0.1:3001"),
    ),
    _fault(
        "address_with_credentials",
        ("地址里带有用户名、参数或片段", "holds a user, a query or a fragment"),
        (
            "去掉 @ 之前的部分和 ? 之后的部分；密钥放进文件",
            "Leave out what stands before @ and after ?; secrets belong into a file",
        ),
    ),
    _fault(
        "address_not_encrypted_http",
        ("会把密钥明文发到公网", "would send the key in clear over public networks"),
        (
            "改用 https://；http:// 只能用于本机和内网",
            "Use https://; http:// is for this machine and private networks only",
        ),
    ),
    _fault(
        "address_not_encrypted_ws",
        ("会把 token 明文发到公网", "would send the token in clear over public networks"),
        (
            "改用 wss://；ws:// 只能用于本机和内网",
            "Use wss://; ws:// is for this machine and private networks only",
        ),
    ),
    _fault(
        "listen_bad",
        ("不是 IP:端口", "is not IP:port"),
        ("写成 127.0.0.1:6700 的样子", "Write it like 127.0.0.1:6700"),
    ),
    _fault(
        "host_port_bad",
        ("不是 主机:端口", "is not host:port"),
        ("写成 node-3.internal:7443 的样子", "Write it like node-3.internal:7443"),
    ),
    _fault(
        "time_zone_unknown",
        ("没有这个时区", "is no known time zone"),
        (
            "写 IANA 名称，例如 Asia/Shanghai；若名称无误，请安装 tzdata",
            "Write an IANA name such as Asia/Shanghai; if it is one, install tzdata",
        ),
    ),
    _fault("text_empty", ("是空的", "is empty"), ("写上内容", "Write something")),
    _fault(
        "text_not_one_line",
        ("含有换行或不可见字符", "holds line ends or invisible characters"),
        ("写成一行普通文字", "Write one line of ordinary text"),
    ),
    _fault(
        "text_not_printable",
        ("含有不可见字符", "holds invisible characters"),
        ("去掉控制字符、零宽字符和双向控制符", "Leave out control, zero-width and bidi characters"),
    ),
    _fault(
        "number_of_example",
        ("还是示例里的占位 0，不是 QQ 号", "is still the 0 of the example, which is no QQ number"),
        ("写上真实的号码", "Write the real number"),
    ),
    _fault(
        "digest_bad",
        ("不是镜像摘要", "is no digest of an image"),
        (
            "写 sha256: 加 64 位小写十六进制（不是标签）",
            "Write sha256: and 64 lower-case hexadecimal digits (not a tag)",
        ),
    ),
    _fault(
        "node_bad",
        ("不是节点名", "is no name of a node"),
        (
            "用小写字母、数字、点和连字符，最长 63 个",
            "Use lower-case letters, digits, dots and hyphens, at most 63",
        ),
    ),
)

_RELATIONS = (
    _fault(
        "napcat_no_way",
        ("url 和 listen 都没有写", "has neither url nor listen"),
        (
            '请写 napcat.url = "ws://127.0.0.1:3001"，或写 napcat.listen',
            'Write napcat.url = "ws://127.0.0.1:3001", or napcat.listen',
        ),
    ),
    _fault(
        "napcat_two_ways",
        ("和 napcat.url 同时写了", "stands beside napcat.url"),
        ("只留一个", "Keep only one of them"),
    ),
    _fault(
        "demo_not_loopback",
        ("演示模式下 NapCat 不在本机", "is not this machine, in demo mode"),
        (
            "改用 127.0.0.1，或设 service.demo = false",
            "Use 127.0.0.1, or set service.demo = false",
        ),
    ),
    _fault(
        "key_file_needed",
        ("没有写，而模型不在内网", "is missing, and the model is not inside"),
        (
            '请写 model.key_file = "/etc/perlica/secrets/model-key"',
            'Write model.key_file = "/etc/perlica/secrets/model-key"',
        ),
    ),
    _fault(
        "number_twice",
        ("同一个 QQ 号写了两次", "has the same QQ number twice"),
        (
            "每个号只写一次；Owner 不用再写进 members",
            "Write each once; Owners need no second entry",
        ),
    ),
    _fault(
        "self_is_member",
        ("包含机器人自己的 QQ 号", "holds our own account's number"),
        ("去掉 napcat.self_id 那个号", "Leave out the number of napcat.self_id"),
    ),
    _fault(
        "node_twice",
        ("同一个节点名写了两次", "has the same node's name twice"),
        ("每个节点一个名字", "Give each node a name of its own"),
    ),
    _fault(
        "paths_equal",
        ("和另一个设置指向同一个位置", "names the same place as another setting"),
        ("各用各的文件和目录", "Give each a file or directory of its own"),
    ),
    _fault(
        "secret_in_state",
        ("密钥文件在 state_dir 里面", "lies inside state_dir"),
        (
            "移到别处，例如 /etc/perlica/secrets，否则会进入备份",
            "Move it, for example to /etc/perlica/secrets; backups would carry it",
        ),
    ),
    _fault(
        "order_model_times",
        ("比它所包含的时限还短", "is shorter than the time limit that it contains"),
        (
            "应有 first_token_within_s ≤ call_within_s ≤ total_within_s",
            "It must be first_token_within_s ≤ call_within_s ≤ total_within_s",
        ),
    ),
    _fault(
        "order_model_tokens",
        ("没有比 max_output_tokens 大", "is not larger than max_output_tokens"),
        ("写模型真正的上下文长度", "Write how much the model can really read"),
    ),
    _fault(
        "order_ping",
        ("没有比 ping_every_s 长", "is not longer than ping_every_s"),
        ("至少写成它的三倍", "Write three times as much at least"),
    ),
    _fault(
        "order_send",
        ("没有比 napcat_within_s 长", "is not longer than napcat_within_s"),
        ("多写几秒", "Write some seconds more"),
    ),
    _fault(
        "console_open",
        (
            "不在本机，又没有 https 的 public_url",
            "is not this machine, without a public_url of https",
        ),
        (
            "改成 127.0.0.1，或在反向代理上配好 TLS 并写 console.public_url",
            "Use 127.0.0.1, or a proxy with TLS and its address in console.public_url",
        ),
    ),
    _fault(
        "console_url_path",
        ("除主机和端口外还有路径", "has a path behind host and port"),
        (
            "写成 https://perlica.example.internal 的样子",
            "Write it like https://perlica.example.internal",
        ),
    ),
)

_SOURCE = (
    _fault(
        "file_missing",
        ("文件不存在", "does not exist"),
        (
            "用 --config 指明；还没有的话，用 perlica example-config > 文件 写出一份再填写",
            "Name it with --config; begin a new one with perlica example-config > FILE",
        ),
    ),
    _fault(
        "file_unreadable",
        ("读不了", "cannot be read"),
        ("检查文件和上级目录的权限", "Look at the permissions of the file and its directories"),
    ),
    _fault(
        "file_not_a_file",
        ("不是普通文件", "is no regular file"),
        ("指向一个 TOML 文件", "Name a TOML file"),
    ),
    _fault(
        "file_open_to_others",
        ("别的用户可以改写它，也就能改 Owner", "can be written by others, who could add Owners"),
        (
            "执行 chmod go-w，并让它属于 root 或运行服务的用户",
            "chmod go-w it, and let root or the service's user own it",
        ),
    ),
    _fault(
        "file_too_large",
        ("超过 256 KiB", "is larger than 256 KiB"),
        ("确认写对了文件", "Make sure that it is the right file"),
    ),
    _fault(
        "file_not_utf8",
        ("不是 UTF-8 文本", "is no UTF-8 text"),
        ("另存为 UTF-8（不带 BOM）", "Save it as UTF-8 without a byte order mark"),
    ),
)

FAULTS: Mapping[str, Fault] = {fault.code: fault for fault in (*_VALUES, *_RELATIONS, *_SOURCE)}
