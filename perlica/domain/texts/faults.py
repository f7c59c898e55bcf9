"""What the codes of faults are called when the group reads of them.

A code without words here is shown as it is; a sentence that was meant for a model or a log is never
shown to the group. The details of a fault stay in the logs.
"""

import re
from collections.abc import Mapping
from typing import Final

from perlica.domain.texts.escape import clip_line
from perlica.domain.texts.language import Language, Text

_FAULT_CODE_POINTS: Final = 80
_CODE: Final = re.compile(r"[a-z0-9_.-]{1,60}")
_PLACE: Final = re.compile(r"[a-z0-9.-]+@[a-zA-Z0-9.-]+")
_UNWORDED: Final = Text(zh="其他原因，细节在日志里", en="another reason; the log has the details")
_AT: Final = Text(zh="{place}，{fault}", en="{place}: {fault}")

FAULTS: Final[Mapping[str, Text]] = {
    # the agent runtime
    "runtime_fault": Text(
        zh="负责思考的部分内部出错", en="the part that thinks has an internal fault"
    ),
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
    "node_not_configured": Text(zh="配置里没有这个节点", en="the node is not configured"),
    "node_not_usable": Text(zh="这个节点现在不能用", en="the node cannot be used now"),
    "no_node": Text(zh="没有可用的节点", en="no node can be used"),
    "no_record": Text(zh="执行方没有它的记录", en="who carried it out knows nothing of it"),
    "no_executor": Text(zh="负责执行的部分已关闭", en="what carries it out is switched off"),
    "gave_up": Text(zh="对方中途放弃，没有做", en="the call gave up; nothing was done"),
    "remote_fault": Text(zh="外部调用内部出错", en="the call outside failed inside"),
    "no_thread": Text(zh="服务太忙，没有开始", en="the service was too busy to begin"),
    "call_silent": Text(zh="对方没有在时限内回应", en="the call did not end in time"),
    "call_stopped": Text(zh="中途停止，可能已经发生", en="it was stopped, and may have happened"),
    "bad_destination": Text(zh="计划没有说明去向", en="the plan does not say where it goes"),
    "order_unreadable": Text(zh="保存的命令读不出来", en="the stored order cannot be read"),
    "order_would_wait": Text(zh="这类动作不能用命令下达", en="this cannot be ordered by command"),
    "no_such_file": Text(zh="沙箱里没有这个文件", en="the sandbox has no such file"),
    "bad_request": Text(zh="节点不接受这个请求", en="the node does not take this request"),
    "other_answer": Text(zh="节点答非所问", en="the node answered something else"),
    "other_operation": Text(zh="操作编号已用于别的动作", en="the operation's id is taken"),
    "running": Text(zh="还在进行", en="it is still running"),
    "still_running": Text(zh="到时限还没有结束", en="it was still running at the limit"),
    "backend_silent": Text(zh="节点一直没有应答", en="the node stayed silent"),
    "crashed": Text(zh="服务中断过，结果没有记下", en="the service broke down meanwhile"),
    "look_up_only": Text(zh="只能查询，不能重做", en="it is only looked up, never run"),
    "left": Text(zh="服务停止，操作继续进行", en="the service stops; the operation goes on"),
    "sandboxd_certificate": Text(zh="节点的证书不对", en="the node's certificate is wrong"),
    "sandboxd_other_node": Text(zh="应答的是另一个节点", en="another node answered"),
    "sandboxd_protocol": Text(zh="节点的协议版本不符", en="the node speaks another version"),
    "sandbox_gone": Text(zh="沙箱已不在", en="the sandbox is gone"),
    "sandbox_in_use": Text(zh="沙箱正在使用", en="the sandbox is in use"),
    "sandbox_moved": Text(zh="沙箱的状态变了", en="the sandbox moved on"),
    "sandbox_capacity": Text(zh="沙箱名额已满", en="all places for sandboxes are taken"),
    "sandbox_name_taken": Text(zh="已有同名沙箱", en="there is a sandbox of that name"),
    "sandboxes_changed": Text(zh="要销毁的沙箱变了", en="the sandboxes to be destroyed changed"),
    "image_changed": Text(zh="全局镜像变了", en="the global image changed"),
    "switch_moved": Text(zh="镜像更换已有进展", en="the image switch moved on"),
    "line_too_long": Text(zh="有一行太长", en="a line is too long"),
    "too_far": Text(zh="要读的位置太靠后", en="what was to be read is too far behind"),
    "the node is written_off": Text(zh="节点已核销", en="the node was written off"),
    "the node is absent": Text(zh="节点已不存在", en="the node is gone"),
    "deletion_not_allowed": Text(
        zh="策略不允许自动删除沙箱", en="the policy does not allow deletions by themselves"
    ),
    # calls, plans and approvals
    "bad_arguments": Text(zh="参数不合要求", en="the arguments do not fit"),
    "unknown_tool": Text(zh="没有这个工具", en="there is no such tool"),
    "blocked": Text(zh="策略不允许", en="the policy forbids it"),
    "not_canonical": Text(zh="参数无法规范表示", en="a parameter has no canonical form"),
    "not_executed": Text(zh="没有执行", en="it was not executed"),
    "not_paid": Text(zh="没有可用的审批", en="no approval pays for it"),
    "command_gone": Text(zh="命令消息已不在", en="the command's message is gone"),
    "policy_unknown_action": Text(
        zh="策略写了不存在的动作或范围", en="the policy names what does not exist"
    ),
    "policy_changed": Text(zh="审批之后策略变了", en="the policy changed after the approval"),
    "facts_changed": Text(zh="批准后情况变了", en="the facts changed after the approval"),
    "not_spent": Text(zh="批准后没有来得及执行", en="it was not spent in time"),
    "owner_removed": Text(zh="批准的人已不是 Owner", en="who approved it is no Owner any more"),
    "plan_cannot_be_shown": Text(zh="计划无法完整展示", en="the plan cannot be shown whole"),
    "ticket_moved": Text(zh="审批已有结果", en="the approval moved on"),
    "ticket_not_usable": Text(zh="审批已用过或过期", en="the approval is used up or expired"),
    "ticket_decided": Text(zh="审批有了结果", en="the approval was decided"),
    "scan_incomplete": Text(zh="内容安全检查没有完成", en="content protection did not finish"),
    "task_active": Text(zh="另一个任务正在进行", en="another task is alive"),
    "task_exists": Text(zh="这条消息已经有任务", en="the message has made its task"),
    "task_ended": Text(zh="任务已经结束", en="the task has ended"),
    "old_image_in_use": Text(zh="还有旧镜像的沙箱", en="sandboxes of the old image exist"),
    "ticket_spent": Text(zh="审批已经用过", en="the approval is used up"),
    "ticket_living": Text(zh="这个调用已在等审批", en="the call waits for an approval already"),
    "ticket_dead": Text(zh="审批已经用过或作废", en="the approval is spent or dead"),
    "ticket_not_consumed": Text(zh="审批还没有用于执行", en="the approval is not consumed"),
    "no_ticket": Text(zh="没有为它发出过审批", en="no approval was drawn for it"),
    "call_executed": Text(zh="这个调用已经执行过", en="the call was executed already"),
    "already_enqueued": Text(zh="消息已在发送队列", en="the message is enqueued already"),
    "send_in_flight": Text(zh="另一条消息正在发送", en="another send is in flight"),
    "other_group": Text(zh="属于别的群", en="it belongs to another group"),
    "constraint": Text(zh="违反了数据规则", en="a rule of the tables forbids it"),
    "task_moved": Text(zh="任务已有进展", en="the task moved on"),
    "call_moved": Text(zh="调用已有进展", en="the call moved on"),
    "operation_moved": Text(zh="操作已有进展", en="the operation moved on"),
    "outbox_moved": Text(zh="消息已有进展", en="the message moved on"),
    "command_done": Text(zh="命令已经执行过", en="the command was done already"),
    "no_such_call": Text(zh="调用的记录已不在", en="the call's row is gone"),
    "no_task": Text(zh="任务的记录已不在", en="the task's row is gone"),
    "id_taken": Text(zh="编号重复", en="the id is taken"),
    "empty_message": Text(zh="消息是空的", en="the message is empty"),
    "database_busy": Text(zh="数据库正忙", en="the database is busy"),
    "database_full": Text(zh="磁盘已满", en="the disk is full"),
    "database_corrupt": Text(zh="数据库损坏", en="the database is damaged"),
    "database_unusable": Text(zh="数据库用不了", en="the database cannot be used"),
    # the database and the policy
    "database_fault": Text(zh="数据库出错", en="the database has a fault"),
    "index_missing": Text(zh="缺少搜索索引", en="the search index is missing"),
    "no_full_text": Text(zh="SQLite 不支持全文搜索", en="SQLite lacks full-text search"),
    "schema_unfit": Text(
        zh="数据库的结构与程序不符", en="the database's schema does not fit the program"
    ),
    "deletion_log_damaged": Text(zh="删除记录损坏", en="the log of deletions is damaged"),
    "deletion_log_unusable": Text(zh="删除记录用不了", en="the log of deletions cannot be used"),
    "policy_below_floor": Text(
        zh="策略文件低于规定的下限", en="the policy file is below the specified floor"
    ),
    # the gate report
    "gate_report_too_large": Text(zh="文件太大", en="the file is too large"),
    "gate_report_missing": Text(zh="没有这个文件", en="there is no such file"),
    "gate_report_unreadable": Text(zh="文件读不了", en="the file cannot be read"),
    "gate_report_invalid": Text(zh="文件不是认识的格式", en="the file is not in the known form"),
}


def say_fault(code: str, language: Language) -> str:
    """What a fault is called in the group; an unknown code by itself, "" for "".

    Behind a place, such as `main@node-1: `, the place stays as it is.
    """
    place, colon, fault = code.rpartition(": ")
    said = _say_code(fault, language)
    if not colon or not _PLACE.fullmatch(place):
        return said
    return _AT.say(language, place=clip_line(place, _FAULT_CODE_POINTS), fault=said)


def _say_code(code: str, language: Language) -> str:
    known = FAULTS.get(code)
    if known is not None or not code:
        return known.say(language) if known else ""
    if _CODE.fullmatch(code):
        return code
    return _UNWORDED.say(language)
