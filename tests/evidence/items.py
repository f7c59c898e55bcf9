"""The twenty acceptance items of the specification ("验收证据"), in its order and its words."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptanceItem:
    """One line of the specification that a release must be able to show."""

    number: int
    text: str


_TEXTS = (
    "群外消息永不进入 Agent 数据库或模型。",
    "未 `@Perlica` 不创建任务，活动任务期间只返回 busy。",
    "15 分钟、30 条、24,000 字符上限同时生效。",
    "原始消息库与长期记忆分离。",
    "所有已启用保护规则在数据库、模型、记忆、外部请求、审计和错误日志出口生效。",
    "保护失败不外发、不保存原文。",
    "沙箱低风险动作自动执行且受运行时资源边界约束。",
    "影响范围未知的动作拒绝。",
    "高风险动作需要一次性、内容绑定 Owner 审批。",
    "审批消息不进入模型。",
    "沙箱没有长期集群凭据。",
    "执行代理记录计划、实际参数、身份、目标、审批和保护后的结果。",
    "一个活动任务和同一沙箱写操作不会并发破坏。",
    "超时、重启、断线和结果不明不会无条件重复高风险动作。",
    "七天无活跃触碰进入删除流程。",
    "创建沙箱可获得当前镜像介绍、digest、revision，所有活动沙箱的 digest 处于当前一致状态。",
    "镜像切换阻止创建、销毁旧沙箱、清理失败保持阻塞，不出现新旧镜像共存。",
    "rootfs backend 可以通过契约替换，且实测恢复整个 rootfs 变更。",
    "Kubernetes MCP 不能绕过 Perlica 网关，首个写动作有 RBAC、审批和审计证据。",
    "NapCat 断线可恢复，QQ 发送失败不重复执行任务。",
)

ITEMS = tuple(
    AcceptanceItem(number=number, text=text) for number, text in enumerate(_TEXTS, start=1)
)
