"""Actions of the policy whose family is still to come, and those that nothing will ever plan.

The policy names them all, so that nobody reads their absence as an oversight; a family takes its
own over when it is built.
"""

from typing import Final

from perlica.domain.actions import ActionSpec, Scope
from perlica.domain.texts import Text

ACTIONS: Final = (
    ActionSpec(
        name="memory.recall",
        scopes=frozenset({Scope.group}),
        label=Text(zh="查询长期记忆", en="recall from long-term memory"),
    ),
    ActionSpec(
        name="memory.candidate",
        scopes=frozenset({Scope.group}),
        label=Text(zh="提名一条长期记忆", en="propose something to remember"),
    ),
    ActionSpec(
        name="web.fetch",
        scopes=frozenset({Scope.allowed_domain}),
        label=Text(zh="读取网页", en="fetch a web page"),
    ),
    ActionSpec(
        name="web.search",
        scopes=frozenset({Scope.search_service}),
        label=Text(zh="搜索网络", en="search the web"),
    ),
    ActionSpec(
        name="attachment.get",
        scopes=frozenset({Scope.group}),
        label=Text(zh="读取群附件", en="read an attachment of the group"),
    ),
    ActionSpec(
        name="cluster.read",
        scopes=frozenset({Scope.allowed_namespace}),
        label=Text(zh="查看集群", en="look at the cluster"),
    ),
    ActionSpec(
        name="cluster.scale",
        scopes=frozenset({Scope.allowed_deployment}),
        label=Text(zh="调整集群副本数", en="scale a deployment"),
    ),
    ActionSpec(
        name="cluster.write",
        scopes=frozenset({Scope.allowed_namespace}),
        label=Text(zh="修改集群资源", en="change a cluster resource"),
    ),
    ActionSpec(
        name="cluster.delete",
        scopes=frozenset({Scope.allowed_namespace}),
        label=Text(zh="删除集群资源", en="delete a cluster resource"),
    ),
    ActionSpec(
        name="spectra.upload",
        scopes=frozenset({Scope.upload_service}),
        label=Text(zh="上传文本", en="upload a text"),
    ),
    ActionSpec(
        name="credential.use",
        scopes=frozenset({Scope.service}),
        label=Text(zh="使用凭据", en="use a credential"),
    ),
    ActionSpec(
        name="extension.install",
        scopes=frozenset({Scope.service}),
        label=Text(zh="安装扩展", en="install an extension"),
    ),
    ActionSpec(
        name="node.change",
        scopes=frozenset({Scope.cluster}),
        label=Text(zh="修改集群节点", en="change a cluster node"),
    ),
    ActionSpec(
        name="rbac.change",
        scopes=frozenset({Scope.cluster}),
        label=Text(zh="修改集群权限", en="change cluster permissions"),
    ),
    ActionSpec(
        name="network_policy.change",
        scopes=frozenset({Scope.cluster}),
        label=Text(zh="修改网络策略", en="change a network policy"),
    ),
    ActionSpec(
        name="scope.unknown",
        scopes=frozenset({Scope.unknown}),
        label=Text(zh="影响范围不明的动作", en="an action of unknown scope"),
    ),
    ActionSpec(
        name="host.access",
        scopes=frozenset({Scope.node}),
        label=Text(zh="访问宿主", en="access to the host"),
    ),
    ActionSpec(
        name="policy.change",
        scopes=frozenset({Scope.service}),
        label=Text(zh="修改策略", en="change of the policy"),
    ),
    ActionSpec(
        name="credential.grant",
        scopes=frozenset({Scope.model, Scope.sandbox}),
        label=Text(zh="交出长期凭据", en="handing out a long-lived credential"),
    ),
    ActionSpec(
        name="executor.bypass",
        scopes=frozenset({Scope.service}),
        label=Text(zh="绕过执行代理", en="going round the executor"),
    ),
)
