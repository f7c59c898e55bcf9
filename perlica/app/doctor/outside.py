"""Checks of what every service talks to: NapCat and the model.

Without `--online` a connection is opened and closed. With it NapCat is asked who it is, and the
model for one word, which costs a few tokens.
"""

import json
import re
import socket
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlsplit

from perlica.app import parts
from perlica.app.config import Config
from perlica.app.doctor.findings import Finding, error, foreign, note, ok
from perlica.app.secrets import SecretInvalid, Secrets, read_secrets
from perlica.clients.model.opening import open_client
from perlica.clients.napcat.dial import DialTransport
from perlica.clients.napcat.transport import Unreachable
from perlica.clients.napcat.wire import Wire, WireBroken
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
