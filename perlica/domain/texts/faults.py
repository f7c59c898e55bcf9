"""What the codes of faults are called when the group reads of them.

A code without words here is shown as it is; the details of a fault stay in the logs.
"""

from collections.abc import Mapping
from typing import Final

from perlica.domain.texts.escape import clip_line
from perlica.domain.texts.language import Language, Text

_FAULT_CODE_POINTS: Final = 80
_AT: Final = Text(zh="{place}，{fault}", en="{place}: {fault}")

FAULTS: Final[Mapping[str, Text]] = {
    # the link to NapCat
    "starting": Text(zh="正在连接", en="connecting"),
    "not_connected": Text(zh="还没有连上 NapCat", en="NapCat is not connected yet"),
    "not_ready": Text(zh="NapCat 还没有就绪", en="NapCat is not ready yet"),
    "napcat_address": Text(zh="NapCat 的地址解析不了", en="NapCat's address cannot be resolved"),
    "napcat_connect": Text(zh="连不上 NapCat", en="NapCat cannot be reached"),
    "napcat_tls": Text(zh="和 NapCat 的 TLS 握手失败", en="the TLS handshake with NapCat failed"),
    "napcat_upgrade": Text(
        zh="NapCat 没有完成 WebSocket 握手", en="NapCat did not finish the WebSocket handshake"
    ),
    "napcat_listen": Text(zh="等待 NapCat 连入", en="waiting for NapCat to connect"),
    "napcat_turned_away": Text(
        zh="连入的不是配置的 NapCat", en="what connected is not the configured NapCat"
    ),
    "auth_failed": Text(zh="NapCat 拒绝了令牌", en="NapCat refused the token"),
    "dropped": Text(zh="和 NapCat 的连接断了", en="the connection to NapCat dropped"),
    "closed": Text(zh="NapCat 关闭了连接", en="NapCat closed the connection"),
    "silent": Text(zh="NapCat 没有动静", en="NapCat went silent"),
    "stopped": Text(zh="服务正在停止", en="the service stops"),
    "check_failed": Text(zh="检查 NapCat 时出错", en="checking NapCat failed"),
    "no_lifecycle": Text(zh="NapCat 没有按协议开始", en="NapCat did not begin as it should"),
    "no_login_info": Text(zh="NapCat 没有给出登录账号", en="NapCat did not tell its account"),
    "no_version_info": Text(zh="NapCat 没有给出版本", en="NapCat did not tell its version"),
    "no_member_info": Text(
        zh="NapCat 没有给出群成员信息", en="NapCat did not tell of the account's membership"
    ),
    "removed": Text(zh="账号已不在这个群里", en="the account is no longer in this group"),
    "catching_up": Text(
        zh="正在补读断开期间的消息", en="reading what was said while the connection was away"
    ),
    "no_status": Text(zh="NapCat 没有给出状态", en="NapCat did not tell its status"),
    "wrong_account": Text(zh="NapCat 登录的是别的账号", en="NapCat uses another account"),
    "not_a_member": Text(zh="账号不在这个群里", en="the account is not in this group"),
    "offline": Text(zh="QQ 账号离线", en="the QQ account is offline"),
    "unresponsive": Text(zh="NapCat 不应答", en="NapCat does not answer"),
    "overflow": Text(
        zh="消息来得太快，正在重连补齐", en="messages came too fast; reconnecting to catch up"
    ),
    "too_large": Text(zh="NapCat 发来的消息太大", en="NapCat sent something too large"),
    "protocol": Text(zh="NapCat 违反了协议", en="NapCat broke the protocol"),
    "bad_utf8": Text(zh="NapCat 发来的不是 UTF-8", en="NapCat sent something not in UTF-8"),
    # nodes and sandboxes
    "sandboxd_unreachable": Text(zh="节点没有应答", en="the node does not answer"),
    "sandboxd_gone": Text(zh="节点中途失去应答", en="the node stopped answering in the middle"),
    "sandboxd_error": Text(zh="节点服务出错", en="the node's service failed"),
    "sandbox_not_gone": Text(zh="删除后仍有残留", en="something is left after deletion"),
    "sandbox_changed": Text(zh="沙箱变了，没有执行", en="the sandbox changed; nothing was done"),
    "sandbox_busy": Text(zh="沙箱一直忙", en="the sandbox was busy for too long"),
    "no_serializer": Text(zh="现在用不了这个沙箱", en="this sandbox cannot be used now"),
    "no_answer": Text(zh="沙箱没有及时应答", en="the sandbox did not answer in time"),
    "too_slow": Text(zh="超过时限", en="it took too long"),
    "never_started": Text(zh="节点没有收到，什么也没有做", en="the node never received it"),
    "interrupted": Text(zh="中途被打断", en="it was interrupted"),
    "no_outcome": Text(zh="节点没有留下结果", en="the node holds no outcome"),
    "not_found": Text(zh="节点上没有这个沙箱", en="the node has no such sandbox"),
    "other_instance": Text(zh="节点上的同名沙箱是另一个", en="another sandbox has that name"),
    "name_taken": Text(zh="节点上已有同名沙箱", en="the node has a sandbox of that name"),
    "no_such_image": Text(zh="节点上没有这个镜像", en="the node lacks the image"),
    "node_absent": Text(zh="节点已不存在", en="the node is gone"),
    "missing_on_node": Text(zh="节点上已找不到它", en="it is missing on its node"),
    "written_off": Text(zh="节点已核销", en="the node was written off"),
    "not ours, see .orphans": Text(zh="不是本服务建的，见 .orphans", en="not ours, see .orphans"),
    "the node is silent": Text(zh="节点失联（无对照）", en="the node is silent"),
    "the node is unreachable": Text(zh="节点失联", en="the node is unreachable"),
    "found on its node": Text(zh="在节点上发现", en="found on its node"),
    "made all the same": Text(zh="其实已经建好", en="made all the same"),
    "an Owner let it go": Text(zh="Owner 同意删除", en="an Owner let it go"),
    "failed": Text(zh="失败", en="failed"),
    "cancelled": Text(zh="已取消", en="cancelled"),
    "unknown": Text(zh="结果不明", en="outcome unknown"),
    # the gate report
    "gate_report_too_large": Text(zh="文件太大", en="the file is too large"),
    "gate_report_missing": Text(zh="没有这个文件", en="there is no such file"),
    "gate_report_unreadable": Text(zh="文件读不了", en="the file cannot be read"),
    "gate_report_invalid": Text(zh="文件不是认识的格式", en="the file is not in the known form"),
}


def say_fault(code: str, language: Language) -> str:
    """What a fault is called in the group; an unknown code escaped and clipped.

    Behind a place, such as `main@node-1: `, the place stays as it is.
    """
    place, colon, fault = code.rpartition(": ")
    known = FAULTS.get(fault)
    if known is None:
        return clip_line(code, _FAULT_CODE_POINTS)
    if not colon:
        return known.say(language)
    return _AT.say(language, place=clip_line(place, _FAULT_CODE_POINTS), fault=known.say(language))
