"""What the policy's actions are called when people read of them.

An action that has no label is shown by its own name: labels are wording, never a decision.
"""

from collections.abc import Mapping

from perlica.domain.texts.escape import escape_visible
from perlica.domain.texts.language import Language, Text

ACTIONS: Mapping[str, Text] = {
    "sandbox.exec": Text(zh="在沙箱里执行命令", en="run a command in a sandbox"),
    "sandbox.read": Text(zh="读取沙箱文件", en="read a file of a sandbox"),
    "sandbox.write": Text(zh="写入沙箱文件", en="write a file of a sandbox"),
    "sandbox.list": Text(zh="列出沙箱", en="list the sandboxes"),
    "sandbox.image": Text(zh="查看沙箱镜像", en="look at the sandbox image"),
    "sandbox.keep": Text(zh="保留沙箱描述", en="keep a sandbox's description"),
    "sandbox.create": Text(zh="创建沙箱", en="create a sandbox"),
    "sandbox.describe": Text(zh="修改沙箱描述", en="change a sandbox's description"),
    "sandbox.stop": Text(zh="停止沙箱", en="stop a sandbox"),
    "sandbox.delete": Text(zh="删除沙箱", en="delete a sandbox"),
    "sandbox.expire": Text(zh="删除过期沙箱", en="delete a sandbox that expired"),
    "sandbox.replace": Text(zh="为更换镜像删除沙箱", en="delete a sandbox for a new image"),
    "sandbox.clean": Text(zh="清理沙箱残留", en="clean up what is left of a sandbox"),
    "image.introduce": Text(zh="修改镜像介绍", en="change the image's introduction"),
    "image.switch": Text(zh="更换沙箱镜像", en="switch the sandbox image"),
    "image.retry": Text(zh="继续更换镜像", en="go on with an image switch"),
    "node.write_off": Text(zh="核销节点", en="write a node off"),
    "orphan.delete": Text(zh="删除不属于本服务的沙箱", en="delete a sandbox that was never ours"),
    "history.recent": Text(zh="查看最近的群消息", en="look at recent group messages"),
    "history.search": Text(zh="检索群历史", en="search the group's history"),
    "memory.recall": Text(zh="查询长期记忆", en="recall from long-term memory"),
    "memory.candidate": Text(zh="提名一条长期记忆", en="propose something to remember"),
    "web.fetch": Text(zh="读取网页", en="fetch a web page"),
    "web.search": Text(zh="搜索网络", en="search the web"),
    "attachment.get": Text(zh="读取群附件", en="read an attachment of the group"),
    "dependency.install": Text(zh="安装依赖", en="install dependencies"),
    "cluster.read": Text(zh="查看集群", en="look at the cluster"),
    "cluster.scale": Text(zh="调整集群副本数", en="scale a deployment"),
    "cluster.write": Text(zh="修改集群资源", en="change a cluster resource"),
    "cluster.delete": Text(zh="删除集群资源", en="delete a cluster resource"),
    "spectra.upload": Text(zh="上传文本", en="upload a text"),
    "credential.use": Text(zh="使用凭据", en="use a credential"),
    "extension.install": Text(zh="安装扩展", en="install an extension"),
    "node.change": Text(zh="修改集群节点", en="change a cluster node"),
    "rbac.change": Text(zh="修改集群权限", en="change cluster permissions"),
    "network_policy.change": Text(zh="修改网络策略", en="change a network policy"),
    "scope.unknown": Text(zh="影响范围不明的动作", en="an action of unknown scope"),
    "host.access": Text(zh="访问宿主", en="access to the host"),
    "policy.change": Text(zh="修改策略", en="change of the policy"),
    "credential.grant": Text(zh="交出长期凭据", en="handing out a long-lived credential"),
    "executor.bypass": Text(zh="绕过执行代理", en="going round the executor"),
}


def label_action(action: str, language: Language) -> str:
    """What people read for an action, such as `删除沙箱`; unknown ones by their own name."""
    known = ACTIONS.get(action)
    return known.say(language) if known else escape_visible(action)
