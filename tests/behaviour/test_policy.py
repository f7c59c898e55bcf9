"""The policy: what the specification lists stands in the file, and everything else is blocked."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perlica.domain.errors import Misconfigured
from perlica.domain.plan import Level
from perlica.gateway.core.policy_file import read_policy
from perlica.gateway.known_actions import CATALOG

SPECIFIED = {
    Level.low: {
        "沙箱内的命令、测试和构建": ("sandbox.exec", "sandbox"),
        "沙箱内读文件": ("sandbox.read", "sandbox"),
        "沙箱内写文件": ("sandbox.write", "sandbox"),
    },
    Level.medium: {
        "允许域名 GET/HEAD": ("web.fetch", "allowed_domain"),
        "依赖安装": ("dependency.install", "allowed_mirror"),
        "集群只读查询": ("cluster.read", "allowed_namespace"),
        "创建允许类型沙箱": ("sandbox.create", "sandbox"),
        "修改描述": ("sandbox.describe", "sandbox"),
    },
    Level.high: {
        "集群写入": ("cluster.write", "allowed_namespace"),
        "首个集群写动作": ("cluster.scale", "allowed_deployment"),
        "集群删除": ("cluster.delete", "allowed_namespace"),
        "沙箱删除": ("sandbox.delete", "sandbox"),
        "上传": ("spectra.upload", "upload_service"),
        "Secret/凭据相关动作": ("credential.use", "service"),
        "MCP/Skill 安装": ("extension.install", "service"),
        "节点变化": ("node.change", "cluster"),
        "RBAC 变化": ("rbac.change", "cluster"),
        "网络策略变化": ("network_policy.change", "cluster"),
    },
    Level.block: {
        "无法判定影响范围": ("scope.unknown", "unknown"),
        "宿主访问": ("host.access", "node"),
        "绕过执行代理": ("executor.bypass", "service"),
        "向模型提供长期凭据": ("credential.grant", "model"),
        "向沙箱提供长期凭据": ("credential.grant", "sandbox"),
        "策略自修改": ("policy.change", "service"),
    },
}
LISTED = [
    pytest.param(level, *pair, id=f"{level}-{words}")
    for level, entries in SPECIFIED.items()
    for words, pair in entries.items()
]


@pytest.mark.evidence(8)
@pytest.mark.parametrize(("level", "action", "scope"), LISTED)
def test_everything_that_the_specification_lists_stands_in_the_policy_by_name(
    level: Level, action: str, scope: str
) -> None:
    policy = read_policy(None)

    assert (action, scope) in policy.levels
    assert policy.judge(action, scope) is level


@pytest.mark.evidence(8)
@given(action=st.text(max_size=40), scope=st.text(max_size=40))
def test_an_action_or_a_scope_that_is_not_listed_is_blocked(action: str, scope: str) -> None:
    policy = read_policy(None)

    listed = (action, scope) in policy.levels

    assert listed or policy.judge(action, scope) is Level.block


@pytest.mark.evidence(8)
def test_a_listed_action_in_another_scope_is_blocked() -> None:
    policy = read_policy(None)
    scopes = {scope for _, scope in policy.levels}

    for action, scope in policy.levels:
        for other in scopes - {listed for name, listed in policy.levels if name == action}:
            assert policy.judge(action, other) is Level.block, (action, scope, other)


def test_every_action_has_words_that_people_read() -> None:
    assert {action for action, _ in read_policy(None).levels} <= {spec.name for spec in CATALOG}


@pytest.mark.evidence(8)
def test_a_policy_that_was_read_cannot_be_changed() -> None:
    policy = read_policy(None)

    with pytest.raises(TypeError):
        policy.levels["policy.change", "service"] = Level.low  # type: ignore[index]
    with pytest.raises(AttributeError):
        policy.version = "mine"  # type: ignore[misc]


@pytest.mark.evidence(8)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "not toml [",
        '[low]\n"sandbox.exec" = ["sandbox"]',
        'version = ""',
        'version = "1"\n[allow]\n"x" = ["y"]',
        'version = "1"\n[low]\n"x" = ["y"]\n[high]\n"x" = ["y"]',
        'version = "1"\n[low]\n"x" = "y"',
        'version = "1"\nlow = 3',
    ],
)
def test_a_doubtful_policy_file_stops_the_start(tmp_path: Path, text: str) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(text)

    with pytest.raises(Misconfigured):
        read_policy(file)


@pytest.mark.evidence(8)
@pytest.mark.parametrize("mode", [0o666, 0o664])
def test_a_policy_file_that_others_can_write_stops_the_start(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "policy.toml"
    file.write_text('version = "1"\n[low]\n"sandbox.delete" = ["sandbox"]')
    file.chmod(mode)

    with pytest.raises(Misconfigured, match="others can write"):
        read_policy(file)


@pytest.mark.evidence(8)
def test_a_policy_that_is_no_regular_file_stops_the_start_and_does_not_hang_it(
    tmp_path: Path,
) -> None:
    fifo = tmp_path / "policy.toml"
    os.mkfifo(fifo, 0o600)

    with pytest.raises(Misconfigured, match="not a regular file"):
        read_policy(fifo)


@pytest.mark.evidence(8)
def test_a_missing_policy_file_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured):
        read_policy(tmp_path / "nowhere.toml")
