"""The doctor's checks of the sandbox capability: each node daemon, and the gate's report."""

from collections.abc import Iterator
from pathlib import Path

from perlica.app import parts
from perlica.app.capabilities.gate_report import judge_settings
from perlica.app.capabilities.standing import CapabilityName
from perlica.app.config import Config
from perlica.app.doctor.findings import Finding, error, ok, warning
from perlica.clients.sandboxd import SandboxdClient, SandboxdSettings
from perlica.domain.errors import PerlicaError
from perlica.domain.texts import Text


def check_sandboxd(config: Config) -> Iterator[Finding]:
    """Each node daemon answers, is the node we mean, and holds the image."""
    section = config.sandbox
    if section is None:
        return
    if not section.gate_report and not config.capabilities()[CapabilityName.sandbox].on:
        return
    for settings in parts.node_settings(section, epoch=0).values():
        yield from _check_node(settings, digest=section.image.digest)


def check_gate(config: Config) -> Iterator[Finding]:
    """The report that is named passed, and speaks for every node as it is now."""
    section = config.sandbox
    if section is None or section.gate_report is None:
        return
    verdict = judge_settings(section.gate_report, parts.node_settings(section, epoch=0))
    if verdict.allows:
        yield ok("gate_ok", "sandbox.gate_report", verdict.reason)
    else:
        yield error("gate_refused", "sandbox.gate_report", verdict.reason, verdict.remedy)


def _check_node(settings: SandboxdSettings, *, digest: str) -> Iterator[Finding]:
    path, tls = settings.socket_path, settings.tls
    place = f"{tls.host}:{tls.port}" if tls is not None else str(path)
    try:
        client = SandboxdClient(settings)
        health = client.health()
        held = client.current_image()
    except PerlicaError as failure:
        yield error(
            failure.code,
            "sandboxd",
            _NO_SANDBOXD,
            _START_SANDBOXD,
            path=place,
            said=failure.text,
        )
        return
    if health.node != settings.node:
        yield error("sandboxd_other_node", "sandbox.node", _OTHER_NODE, _SET_NODE)
    if digest not in held:
        yield error("sandboxd_lacks_image", "sandbox.image", _LACKS_IMAGE, _IMPORT_IMAGE)
    yield ok("sandboxd_ok", "sandboxd", _SANDBOXD_OK, version=health.version, node=health.node)
    if tls is None and not _is_private(path):
        yield warning("sandboxd_socket_open", "sandboxd", _SOCKET_OPEN, _CLOSE_SOCKET)
    if tls is not None and tls.key.stat().st_mode & 0o007:
        yield warning("sandboxd_key_open", "sandboxd", _KEY_OPEN, _CLOSE_KEY, path=str(tls.key))


def _is_private(path: Path) -> bool:
    """Whether only an owner and a group can speak to the socket (a full path may close it too)."""
    try:
        return not path.stat().st_mode & 0o007 or not path.parent.stat().st_mode & 0o001
    except OSError:
        return True


_NO_SANDBOXD = Text(
    zh="{path} 上的 sandboxd 没有应答（{said}）", en="no sandboxd answers at {path} ({said})"
)
_START_SANDBOXD = Text(
    zh="启动 sandboxd；核对套接字路径和权限",
    en="start sandboxd, compare the socket's path and permissions",
)
_OTHER_NODE = Text(zh="sandboxd 报的是另一个节点名", en="sandboxd says that it is another node")
_SET_NODE = Text(zh="让 sandbox.node 与它一致", en="let sandbox.node be the same")
_LACKS_IMAGE = Text(zh="节点上没有配置的镜像", en="the node does not hold the configured image")
_IMPORT_IMAGE = Text(
    zh="在节点上导入镜像，再核对 sandbox.image.digest",
    en="import the image on the node and compare sandbox.image.digest",
)
_SANDBOXD_OK = Text(zh="sandboxd {version}，节点 {node}", en="sandboxd {version} on {node}")
_SOCKET_OPEN = Text(
    zh="所有用户都能连上 sandboxd 的套接字", en="everybody can speak to sandboxd's socket"
)
_KEY_OPEN = Text(zh="所有用户都能读 {path}", en="everybody can read {path}")
_CLOSE_KEY = Text(
    zh="chmod 0640，只给运行服务的组", en="chmod 0640, for the group of the service alone"
)
_CLOSE_SOCKET = Text(
    zh="套接字权限改为 0660，只给运行服务的组",
    en="give the socket mode 0660 and the service's group",
)
