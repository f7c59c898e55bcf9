"""Checks of what the service talks to: NapCat, the model, sandboxd.

Without `--online` a connection is opened and closed. With it NapCat is asked who it is, and the
model for one word, which costs a few tokens.
"""

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from perlica.app import parts
from perlica.app.capabilities.gate_report import judge_settings
from perlica.app.capabilities.standing import CapabilityName
from perlica.app.config import Config
from perlica.app.doctor.findings import Finding, error, foreign, note, ok, warning
from perlica.app.secrets import SecretInvalid, Secrets, read_secrets
from perlica.clients.model.opening import open_client
from perlica.clients.napcat.dial import DialTransport
from perlica.clients.napcat.transport import Unreachable
from perlica.clients.napcat.wire import Wire, WireBroken
from perlica.clients.sandboxd import SandboxdClient, SandboxdSettings
from perlica.domain.cancel import CancelToken
from perlica.domain.clock import monotonic_s
from perlica.domain.errors import PerlicaError
from perlica.domain.texts import Text
from perlica.domain.texts.models import REASON_OF, TROUBLES

_DEFAULT_PORTS: Final = {"ws": 80, "wss": 443, "http": 80, "https": 443}
_WRONG_TOKEN: Final = 1403
_LOGIN_ECHO: Final = "perlica-doctor"


def check_napcat(config: Config, *, online: bool) -> Iterator[Finding]:
    """NapCat can be reached; online: it takes our token and is logged in as our account."""
    url = config.napcat.url
    if url is None:
        yield note("napcat_reverse", "napcat", _REVERSE, address=config.napcat.listen or "")
        return
    if not online:
        yield _reach("napcat", url, config.napcat.connect_within_s, remedy=_START_NAPCAT)
        return
    try:
        settings = parts.napcat_settings(config, read_secrets(config))
        wire = DialTransport(settings).open()
    except SecretInvalid:
        return  # said by the check of the secrets
    except Unreachable as failure:
        yield error(failure.code, "napcat", _NOT_REACHED, _START_NAPCAT, said=failure.text)
        return
    try:
        yield _judge_login(wire, config)
    except WireBroken as failure:
        yield error(failure.code, "napcat", _NOT_REACHED, _LOOK_AT_NAPCAT, said=failure.text)
    finally:
        wire.release()


def _judge_login(wire: Wire, config: Config) -> Finding:
    """Ask who is logged in; a wrong token is told in a frame before the close (S20)."""
    wire.write(json.dumps({"action": "get_login_info", "params": {}, "echo": _LOGIN_ECHO}))
    give_up_at_s = monotonic_s() + config.napcat.call_within_s
    while monotonic_s() < give_up_at_s:
        frame = _read_frame(wire)
        if frame.get("retcode") == _WRONG_TOKEN:
            return error("napcat_token_wrong", "napcat", _TOKEN_WRONG, _SAME_TOKEN)
        if frame.get("echo") == _LOGIN_ECHO:
            return _judge_account(frame, config.napcat.self_id)
    return error("napcat_silent", "napcat", _SILENT, _LOOK_AT_NAPCAT)


def _read_frame(wire: Wire) -> dict[str, Any]:
    """The next frame as an object; an empty one for anything else. Nothing of it is kept."""
    text = wire.receive()
    try:
        frame = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    return frame if isinstance(frame, dict) else {}


def _judge_account(frame: dict[str, Any], self_id: int) -> Finding:
    account = frame.get("data")
    number = account.get("user_id") if isinstance(account, dict) else None
    if str(number) == str(self_id):
        return ok("napcat_ok", "napcat", _LOGGED_IN)
    if number is None:
        return error("napcat_not_logged_in", "napcat", _NOT_LOGGED_IN, _LOG_IN)
    return error("napcat_other_account", "napcat", _OTHER_ACCOUNT, _SET_SELF_ID)


def check_model(config: Config, *, online: bool) -> Iterator[Finding]:
    """The model's address can be reached; online: it answers one question."""
    section = config.model
    if not online:
        yield _reach("model", section.base_url, section.connect_within_s, remedy=_LOOK_AT_MODEL)
        return
    try:
        secrets: Secrets = read_secrets(config)
        client = open_client(parts.model_settings(config, secrets))
    except SecretInvalid:
        return  # said by the check of the secrets
    except PerlicaError as failure:
        yield _model_trouble(failure.code, failure.text, failure.remedy)
        return
    for found in client.probe(CancelToken()):
        if found.is_good:
            said = Text(zh=_MODEL_IS_GOOD.get(found.code, "{ours}"), en="{ours}")
            yield ok(found.code, "model", said, ours=found.text)
        else:
            yield _model_trouble(found.code, found.text, found.remedy)


def _model_trouble(code: str, text: str, remedy: str) -> Finding:
    """What is wrong in the operator's language, and the client's own words, which are exact."""
    trouble = TROUBLES.get(REASON_OF[code]) if code in REASON_OF else None
    if trouble is None:
        return error(code, "model", foreign(text), foreign(remedy))
    status = _STATUS.search(text)
    said = Text(
        zh=trouble.what.zh + ("（{status}）" if status else ""), en=trouble.what.en + " ({ours})"
    )
    return error(
        code, "model", said, trouble.remedy, status=status.group() if status else "", ours=text
    )


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


def _reach(subject: str, url: str, within_s: float, *, remedy: Text) -> Finding:
    address = urlsplit(url)
    host = address.hostname or ""
    port = address.port or _DEFAULT_PORTS[address.scheme]
    try:
        socket.create_connection((host, port), timeout=within_s).close()
    except OSError as failure:
        return error(
            f"{subject}_unreachable",
            subject,
            _NOT_REACHED,
            remedy,
            said=f"{host}:{port}, {type(failure).__name__}",
        )
    return ok(f"{subject}_reachable", subject, _REACHED, place=f"{host}:{port}")


_MODEL_IS_GOOD: Final = {
    "model_answers": "模型正常应答",
    "model_usage_estimated": "模型服务不报用量：token 按字节估计",
}
"""What the client says in English, in Chinese."""
_STATUS: Final = re.compile(r"HTTP [0-9]{3}")
_REACHED = Text(
    zh="{place} 连得上（加 --online 再核对身份）", en="{place} can be reached (--online asks more)"
)
_NOT_REACHED = Text(zh="连不上（{said}）", en="cannot be reached ({said})")
_START_NAPCAT = Text(
    zh="启动 NapCat，打开正向 WebSocket，核对 napcat.url",
    en="start NapCat with its WebSocket server on, and compare napcat.url",
)
_LOOK_AT_NAPCAT = Text(zh="查看 NapCat 的日志", en="look at NapCat's log")
_REVERSE = Text(
    zh="反向连接：等待 NapCat 连到 {address}", en="NapCat is expected to connect to {address}"
)
_TOKEN_WRONG = Text(zh="NapCat 不认这个 token", en="NapCat does not take the token")
_SAME_TOKEN = Text(
    zh="让 napcat.token_file 与 NapCat 设置里的 token 一致",
    en="let napcat.token_file and NapCat's own setting hold the same token",
)
_SILENT = Text(zh="NapCat 没有回答", en="NapCat did not answer")
_LOGGED_IN = Text(zh="已登录，账号正确", en="is logged in as our account")
_NOT_LOGGED_IN = Text(zh="NapCat 没有登录 QQ", en="NapCat is not logged in")
_LOG_IN = Text(zh="在 NapCat 里登录机器人账号", en="log the account in at NapCat")
_OTHER_ACCOUNT = Text(zh="NapCat 登录的是另一个账号", en="NapCat is logged in as another account")
_SET_SELF_ID = Text(
    zh="改 napcat.self_id，或换账号登录", en="change napcat.self_id, or log in the other account"
)
_LOOK_AT_MODEL = Text(
    zh="核对 model.base_url、网络和防火墙",
    en="compare model.base_url, look at network and firewall",
)
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
