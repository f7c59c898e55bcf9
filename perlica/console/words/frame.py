"""Words of what stands around every page: navigation, login, errors, the overview."""

from collections.abc import Mapping

from perlica.domain.texts import Text

FRAME: Mapping[str, Text] = {
    "console": Text(zh="Perlica 控制台", en="Perlica console"),
    "read_only": Text(zh="只读", en="read-only"),
    "skip": Text(zh="跳到正文", en="Skip to content"),
    "menu": Text(zh="菜单", en="Menu"),
    "pages": Text(zh="页面", en="Pages"),
    "nav.overview": Text(zh="总览", en="Overview"),
    "nav.active": Text(zh="当前任务", en="Active task"),
    "nav.tasks": Text(zh="任务", en="Tasks"),
    "nav.tickets": Text(zh="审批", en="Approvals"),
    "nav.sandboxes": Text(zh="沙箱", en="Sandboxes"),
    "nav.image": Text(zh="镜像", en="Image"),
    "nav.outbox": Text(zh="发件箱", en="Outbox"),
    "nav.recovery": Text(zh="恢复队列", en="Recovery"),
    "nav.audit": Text(zh="审计", en="Audit"),
    "nav.usage": Text(zh="用量", en="Usage"),
    "waiting": Text(zh="{count} 项待处理", en="{count} waiting"),
    "find": Text(zh="查找", en="Find"),
    "find.hint": Text(
        zh="编号、沙箱名、请求里的词、提出的人", en="Id, sandbox, words of a request, person"
    ),
    "find.found": Text(zh="与“{words}”有关的任务", en='Tasks about "{words}"'),
    "find.nothing": Text(
        zh="没有编号或名称是“{id}”的任务、审批、操作、调用或沙箱，也没有任务的请求或提出人含有它。",
        en='Nothing is called "{id}", and no task was asked for in these words or by this person.',
    ),
    "other_language": Text(zh="English", en="中文"),
    "theme.dark": Text(zh="深色", en="Dark"),
    "theme.light": Text(zh="浅色", en="Light"),
    "theme.auto": Text(zh="跟随系统", en="As the system"),
    "log_out": Text(zh="退出", en="Log out"),
    "viewer": Text(zh="查看者", en="Viewer"),
    "live.on": Text(zh="自动刷新", en="Refreshing"),
    "live.off": Text(zh="已暂停刷新", en="Refreshing is paused"),
    "live.pause": Text(zh="暂停", en="Pause"),
    "live.resume": Text(zh="继续", en="Resume"),
    "live.lost": Text(zh="连不上控制台，正在重试", en="The console does not answer; trying again"),
    "live.login": Text(zh="登录已失效，请重新登录", en="You are logged out; please log in again"),
    "all_times": Text(zh="时间均为 {zone}", en="All times are {zone}"),
    "login.title": Text(zh="登录", en="Log in"),
    "login.token": Text(zh="查看者令牌", en="Viewer token"),
    "login.button": Text(zh="登录", en="Log in"),
    "login.how": Text(
        zh="令牌由运维用 perlica console token add 签发，只显示一次。",
        en="An operator makes a token with: perlica console token add. It is shown once.",
    ),
    "login.wrong": Text(
        zh="令牌不对、已过期或已撤销。",
        en="This token is wrong, has expired, or was revoked.",
    ),
    "login.wait": Text(
        zh="失败次数过多，请 {seconds} 秒后再试。",
        en="Too many failures; try again in {seconds} s.",
    ),
    "login.foreign": Text(
        zh="这次提交不是从登录页来的，没有处理。",
        en="This did not come from the login page; nothing was done.",
    ),
    "error.title": Text(zh="出错了", en="Something is wrong"),
    "error.not_found": Text(zh="没有这个页面或这条记录。", en="There is no such page or record."),
    "error.gone": Text(
        zh="它可能已过保留期，被清理了。",
        en="It may have been older than records are kept.",
    ),
    "error.method": Text(
        zh="控制台只能看，不能改。", en="The console can look but not change anything."
    ),
    "error.busy": Text(
        zh="数据库正忙，请稍后刷新。", en="The database is busy; please reload in a moment."
    ),
    "error.database": Text(
        zh="数据库读不了：{reason}。", en="The database cannot be read: {reason}."
    ),
    "error.internal": Text(
        zh="控制台自己出了错，细节在服务日志里。",
        en="The console itself failed; the service's log has the details.",
    ),
    "error.back": Text(zh="回到总览", en="Back to the overview"),
    "overview.parts": Text(zh="各部分状态", en="Parts"),
    "overview.counts": Text(zh="待处理", en="Waiting"),
    "overview.recent": Text(zh="最近的任务", en="Recent tasks"),
    "overview.all_tasks": Text(zh="全部任务", en="All tasks"),
    "overview.idle": Text(zh="空闲，没有正在进行的任务。", en="Idle: no task is going on."),
    "overview.tickets": Text(zh="等待审批", en="Pending approvals"),
    "overview.operations": Text(zh="结果不明的操作", en="Operations of unknown outcome"),
    "overview.sends": Text(zh="结果不明的发送", en="Sends of unknown outcome"),
    "overview.failed_sends": Text(zh="发不出去的消息", en="Messages that were not sent"),
    "overview.queued_sends": Text(zh="排队的消息", en="Messages in the queue"),
    "overview.sandboxes": Text(zh="沙箱", en="Sandboxes"),
    "part.ok": Text(zh="正常", en="fine"),
    "part.warning": Text(zh="注意", en="attention"),
    "part.fault": Text(zh="故障", en="fault"),
    "part.off": Text(zh="关闭", en="off"),
    "part.unknown": Text(zh="未知", en="unknown"),
    "part.database": Text(zh="数据库", en="Database"),
    "part.database.text": Text(
        zh="结构版本 {schema}，{size}，WAL {wal}，磁盘剩余 {free}",
        en="schema {schema}, {size}, WAL {wal}, {free} free on the disk",
    ),
    "part.database.low": Text(zh="磁盘空间不足，请清理", en="free some disk space"),
    "part.backup": Text(zh="备份", en="Backup"),
    "part.backup.at": Text(zh="最近一次在 {ago}", en="the last one {ago}"),
    "part.backup.never": Text(zh="还没有备份", en="there is none yet"),
    "part.backup.how": Text(zh="定期执行 perlica backup", en="run perlica backup regularly"),
    "part.node": Text(zh="节点 {name}", en="Node {name}"),
    "part.node.at": Text(zh="最近一次应答在 {ago}", en="it last answered {ago}"),
    "part.node.never": Text(zh="还没有应答过", en="it has not answered yet"),
    "part.group": Text(zh="群消息", en="Group messages"),
    "part.group.at": Text(zh="最近一条在 {ago}", en="the newest one {ago}"),
    "part.group.never": Text(zh="还没有收到过", en="none so far"),
    "part.answers": Text(zh="模型应答", en="Model's answers"),
    "part.answers.at": Text(zh="最近一次在 {ago}", en="the last one {ago}"),
    "part.answers.never": Text(zh="还没有过", en="none so far"),
    "part.restored": Text(zh="数据库恢复自 {origin}", en="the database was restored from {origin}"),
    "ago": Text(zh="{duration}前", en="{duration} ago"),
    "ahead": Text(zh="还剩 {duration}", en="{duration} left"),
    "overdue": Text(zh="已到期", en="due"),
}
