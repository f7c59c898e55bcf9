"""The floor of every policy: what the specification calls High or Block is never less.

A policy file may ask for more approvals, never for fewer. The table stands
in code beside the words of the specification, because a file can be changed by more people.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from perlica.domain.errors import Misconfigured
from perlica.domain.plan import Level
from perlica.domain.policy import Policy

FLOOR: Final[Mapping[str, Level]] = MappingProxyType(
    {
        # 集群写入/删除
        "cluster.scale": Level.high,
        "cluster.write": Level.high,
        "cluster.delete": Level.high,
        # 沙箱删除；切换镜像会销毁全部沙箱，节点与孤儿的清理也是删除
        "sandbox.delete": Level.high,
        "image.switch": Level.high,
        "node.write_off": Level.high,
        "orphan.delete": Level.high,
        # 上传
        "spectra.upload": Level.high,
        # Secret/凭据相关动作
        "credential.use": Level.high,
        # MCP/Skill 安装
        "extension.install": Level.high,
        # 节点/RBAC/网络策略变化
        "node.change": Level.high,
        "rbac.change": Level.high,
        "network_policy.change": Level.high,
        # 无法判定影响范围、宿主访问、绕过执行代理
        "scope.unknown": Level.block,
        "host.access": Level.block,
        "executor.bypass": Level.block,
        # 向模型或沙箱提供长期凭据
        "credential.grant": Level.block,
        # 策略自修改
        "policy.change": Level.block,
    }
)
"""The least level of an action, in whatever scope; a pair that a policy leaves out is Block."""
_ORDER: Final = (Level.low, Level.medium, Level.high, Level.block)


def require_floor(policy: Policy) -> Policy:
    """The policy itself. Raises: Misconfigured, naming each action that it judges too mildly."""
    below = sorted(
        f"{action} ({level}, at least {FLOOR[action]})"
        for (action, _scope), level in policy.levels.items()
        if action in FLOOR and _ORDER.index(level) < _ORDER.index(FLOOR[action])
    )
    if below:
        raise Misconfigured(
            "policy_below_floor",
            f"policy: {', '.join(below)}",
            remedy="a policy file may be stricter than the packaged one, never milder here",
        )
    return policy
