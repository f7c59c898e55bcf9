"""The wording of answers to dot commands, in both languages; `answers` fills it in.

Short and plain: it is read on a phone, among other talk.
"""

from collections.abc import Mapping

from perlica.commands.names import CommandName, Mistake
from perlica.domain.approval import Verdict
from perlica.domain.texts import Text

VERDICTS: Mapping[Verdict, Text] = {
    Verdict.approved: Text(
        zh="审批 {ticket} 已批准，只执行这一次。",
        en="Approval {ticket} is granted, for this one execution.",
    ),
    Verdict.denied: Text(
        zh="审批 {ticket} 已拒绝，不会执行。",
        en="Approval {ticket} is denied; nothing will be done.",
    ),
    Verdict.not_owner: Text(
        zh="只有这张审批单上的 Owner 才能决定，没有任何改变。",
        en="Only the Owners named in the approval can decide; nothing has changed.",
    ),
    Verdict.unknown_ticket: Text(
        zh="没有编号为 {ticket} 的审批。发 .status 查看等待中的审批。",
        en="There is no approval {ticket}. Send .status to see the pending ones.",
    ),
    Verdict.wrong_code: Text(
        zh="短码不对，没有批准 {ticket}。请照审批消息里的短码重新发送。",
        en="Wrong code; {ticket} is not approved. Please copy the code from the approval message.",
    ),
    Verdict.too_many_attempts: Text(
        zh="审批 {ticket} 的短码错了太多次，已经锁定。需要的话请重新 @我 提出。",
        en="Too many wrong codes for {ticket}; it is locked. Please @ me again if it is wanted.",
    ),
    Verdict.expired: Text(
        zh="审批 {ticket} 已过期，不会执行。需要的话请重新 @我 提出。",
        en="Approval {ticket} has expired; nothing will be done. @ me again if it is wanted.",
    ),
    Verdict.already_decided: Text(
        zh="审批 {ticket} 已经有过结果，不能再用。",
        en="Approval {ticket} was decided before and cannot be used again.",
    ),
}

MISTAKES: Mapping[Mistake, Text] = {
    Mistake.wrong_form: Text(
        zh="命令要用英文句点加小写字母，后面空一格",
        en="a command is an ASCII dot and lower-case letters, followed by a space",
    ),
    Mistake.hidden_signs: Text(
        zh="这一行里夹着看不见的字符，请手打一遍再发",
        en="there are invisible characters in this line; please type it by hand",
    ),
    Mistake.not_first: Text(
        zh="命令要写在消息的第一行，前面最多 @我",
        en="a command stands on the first line, behind a mention of me at most",
    ),
    Mistake.quoted: Text(
        zh="命令不能写在引用里，请作为新消息直接发送",
        en="a command does not count in a reply; send it as a message of its own",
    ),
    Mistake.too_long: Text(zh="这一行太长", en="this line is too long"),
    Mistake.needs_ticket: Text(zh="缺少审批编号", en="the approval's id is missing"),
    Mistake.needs_code: Text(zh="缺少六位短码", en="the six-digit code is missing"),
    Mistake.bad_ticket: Text(
        zh="审批编号是五位字母或数字，例如 K7Q2M",
        en="an approval's id has five letters or digits, such as K7Q2M",
    ),
    Mistake.bad_code: Text(zh="短码是六位数字", en="the code has six digits"),
    Mistake.needs_task: Text(zh="缺少任务编号", en="the task's id is missing"),
    Mistake.bad_task: Text(zh="任务编号的样子是 T-7F3KQ2", en="a task's id looks like T-7F3KQ2"),
    Mistake.bad_operation: Text(
        zh="请写操作编号，以 op- 开头，可用 .recovery 查到",
        en="write the operation's id, it begins with op- and .recovery shows it",
    ),
    Mistake.needs_reason: Text(
        zh="请在编号后面写明处理依据", en="write after the id what you found out"
    ),
    Mistake.needs_name: Text(zh="缺少名字", en="the name is missing"),
    Mistake.bad_name: Text(
        zh="名字只有小写字母、数字和中间的连字符",
        en="a name has lower-case letters, digits and inner hyphens only",
    ),
    Mistake.needs_text: Text(zh="后面还要写内容", en="write the text behind it"),
    Mistake.bad_digest: Text(
        zh="请写镜像摘要，至少 12 位十六进制", en="write the image's digest, 12 digits at least"
    ),
    Mistake.bad_number: Text(
        zh="请写编号，可用 .orphans 查到", en="write its number, see .orphans"
    ),
    Mistake.too_many_words: Text(zh="后面多了内容", en="there is more than the command takes"),
    Mistake.unknown_word: Text(zh="没有这个子命令", en="there is no such word behind it"),
}

USAGES: Mapping[CommandName, Text] = {
    CommandName.approve: Text(zh=".approve 编号 短码", en=".approve ID CODE"),
    CommandName.deny: Text(zh=".deny 编号", en=".deny ID"),
    CommandName.status: Text(zh=".status", en=".status"),
    CommandName.cancel: Text(zh=".cancel 或 .cancel 任务编号", en=".cancel or .cancel TASK"),
    CommandName.tasks: Text(zh=".tasks", en=".tasks"),
    CommandName.task: Text(zh=".task 任务编号", en=".task TASK"),
    CommandName.audit: Text(zh=".audit 或 .audit 任务编号", en=".audit or .audit TASK"),
    CommandName.recovery: Text(
        zh=".recovery 或 .recovery resolve 操作编号 依据",
        en=".recovery or .recovery resolve OPERATION REASON",
    ),
    CommandName.sbx: Text(
        zh=".sbx 或 .sbx show/ops/stop/delete 名字 或 .sbx describe 名字 用途",
        en=".sbx or .sbx show/ops/stop/delete NAME or .sbx describe NAME PURPOSE",
    ),
    CommandName.image: Text(
        zh=".image 或 .image intro 介绍 或 .image switch 摘要 [介绍] 或 .image retry",
        en=".image or .image intro TEXT or .image switch DIGEST [TEXT] or .image retry",
    ),
    CommandName.orphans: Text(
        zh=".orphans 或 .orphans delete 编号", en=".orphans or .orphans delete NUMBER"
    ),
    CommandName.node: Text(zh=".node 或 .node writeoff 节点", en=".node or .node writeoff NODE"),
    CommandName.whoami: Text(zh=".whoami", en=".whoami"),
    CommandName.help: Text(zh=".help", en=".help"),
}

SUMMARIES: Mapping[CommandName, Text] = {
    CommandName.approve: Text(zh="批准一次高风险操作", en="allow one risky action, once"),
    CommandName.deny: Text(zh="拒绝它", en="refuse it"),
    CommandName.status: Text(
        zh="任务、审批、沙箱和连接", en="task, approvals, sandboxes, connection"
    ),
    CommandName.cancel: Text(zh="停止当前任务", en="stop the current task"),
    CommandName.tasks: Text(zh="最近的任务", en="recent tasks"),
    CommandName.task: Text(zh="一个任务的经过", en="what became of one task"),
    CommandName.audit: Text(zh="审计记录", en="the audit"),
    CommandName.recovery: Text(
        zh="查看、了结结果不明的操作", en="see and settle operations of unknown outcome"
    ),
    CommandName.sbx: Text(zh="查看、管理沙箱", en="see and manage sandboxes"),
    CommandName.image: Text(zh="查看、更换沙箱镜像", en="see and switch the sandbox image"),
    CommandName.orphans: Text(zh="没清理干净的沙箱", en="what could not be cleaned up"),
    CommandName.node: Text(zh="节点状态、核销失联节点", en="nodes, and writing a lost one off"),
    CommandName.whoami: Text(zh="自己的 QQ 号和角色", en="one's own QQ number and role"),
    CommandName.help: Text(zh="这份说明", en="this help"),
}

HELP_HEAD = Text(
    zh="【用法】@我 并写明要做的事；同一时间只做一件。命令（只看消息第一行）：",
    en="【Help】@ me and write what to do; one thing at a time. Commands (first line only):",
)
OWNERS_ONLY = Text(zh="仅 Owner", en="Owners only")
USE_IT_SO = Text(zh="{mistake}。用法：{usage}", en="Not done: {mistake}. Usage: {usage}")
UNKNOWN_COMMAND = Text(
    zh="没有这个命令，什么也没有做。发 .help 查看命令；若不是命令，请不要用句点开头。",
    en="There is no such command; nothing was done. "
    "Send .help for the commands; if it is none, do not begin with a dot.",
)
DID_YOU_MEAN = Text(
    zh="没有这个命令，什么也没有做。是不是想发 {usage}？",
    en="There is no such command; nothing was done. Did you mean {usage}?",
)
NOT_ALLOWED = Text(
    zh=".{name} 只有 Owner 能用，没有任何改变。",
    en=".{name} is for Owners only; nothing has changed.",
)

CANCELLING = Text(zh="正在取消任务 {task}。", en="Cancelling task {task}.")
ALREADY_CANCELLING = Text(
    zh="任务 {task} 已经在取消了。", en="Task {task} is being cancelled already."
)
NOTHING_TO_CANCEL = Text(zh="现在没有进行中的任务。", en="There is no task to cancel.")
NOT_THIS_TASK = Text(
    zh="任务 {asked} 不在进行中；现在进行的是 {task}，没有取消。",
    en="Task {asked} is not running; the current one is {task} and goes on.",
)
NOT_YOURS = Text(
    zh="任务 {task} 只能由发起人或 Owner 取消。",
    en="Task {task} can be cancelled by whoever asked for it or by an Owner.",
)

STATUS_HEAD = Text(zh="【状态】", en="【Status】")
STATUS_IDLE = Text(zh="空闲，可以 @我。", en="Idle; @ me with something to do.")
STATUS_TASK = Text(
    zh="任务 {task}：{phase}，第 {step} 步，已 {elapsed}，{requester} 发起",
    en="Task {task}: {phase}, step {step}, {elapsed}, asked by {requester}",
)
STATUS_CANCELLING = Text(zh="（正在取消）", en=" (being cancelled)")
STATUS_TICKET = Text(
    zh="待批 {ticket}：{action}，还剩 {left}",
    en="Pending {ticket}: {action}, {left} left",
)
STATUS_SANDBOXES = Text(zh="沙箱 {count}/{most}：{names}", en="Sandboxes {count}/{most}: {names}")
STATUS_NO_SANDBOX = Text(zh="沙箱 0/{most}", en="Sandboxes 0/{most}")
STATUS_SANDBOX = Text(zh="{name}（{state}）", en="{name} ({state})")
STATUS_SANDBOX_LEFT = Text(
    zh="{name}（{state}，{left}后删除）", en="{name} ({state}, deleted in {left})"
)
STATUS_IMAGE = Text(zh="镜像更换：{state}", en="Image switch: {state}")
STATUS_IMAGE_SWITCHING = Text(zh="进行中，暂停创建沙箱", en="under way, nothing is created")
STATUS_IMAGE_BLOCKED = Text(zh="受阻（{reason}）", en="blocked ({reason})")
STATUS_ORPHANS = Text(
    zh="没清理干净的沙箱 {count} 个，见 .orphans",
    en="{count} sandbox(es) not cleaned up, see .orphans",
)
STATUS_QUEUE = Text(zh="待发消息 {count} 条", en="{count} message(s) waiting to be sent")
STATUS_RECOVERY = Text(
    zh="结果不明的操作 {count} 个，见 .recovery",
    en="{count} operation(s) of unknown outcome, see .recovery",
)
STATUS_CONNECTED = Text(zh="连接：正常", en="Connection: fine")
STATUS_DISCONNECTED = Text(zh="连接：不可用（{reason}）", en="Connection: not usable ({reason})")
STATUS_MODEL = Text(zh="模型：{age}前出错（{what}）", en="Model: it failed {age} ago ({what})")
STATUS_OFF = Text(zh="未启用：{names}", en="Switched off: {names}")
STATUS_OFF_ONE = Text(zh="{name}（{reason}）", en="{name} ({reason})")
STATUS_MORE = Text(zh="……另有 {count} 项", en="… and {count} more")

SANDBOX_STATES: Mapping[str, Text] = {
    "creating": Text(zh="创建中", en="being created"),
    "ready": Text(zh="可用", en="ready"),
    "stopped": Text(zh="已停止", en="stopped"),
    "deleting": Text(zh="删除中", en="being deleted"),
    "unconfirmed": Text(zh="清理未确认", en="clean-up not confirmed"),
    "deleted": Text(zh="已删除", en="deleted"),
    "lost": Text(zh="已丢失", en="lost"),
}

RECOVERY_HEAD = Text(
    zh="【结果不明的操作】不会重复执行。查明后发 .recovery resolve 编号 依据",
    en="【Operations of unknown outcome】They are never repeated. "
    "Once you know, send .recovery resolve ID REASON",
)
RECOVERY_ITEM = Text(
    zh="{operation}：{action}，{age}前开始", en="{operation}: {action}, started {age} ago"
)
RECOVERY_NONE = Text(zh="没有结果不明的操作。", en="No operation is of unknown outcome.")
RECOVERY_RESOLVED = Text(
    zh="操作 {operation} 已了结，依据已记入审计。",
    en="Operation {operation} is settled; the reason stands in the audit.",
)
RECOVERY_UNKNOWN = Text(
    zh="没有等待了结的操作 {operation}。发 .recovery 查看。",
    en="No operation {operation} waits to be settled. Send .recovery to see them.",
)
