"""The console's settings from the configuration, and how the parts of the service are just now.

Used by the composition root, which knows the connection, and by `perlica console serve`, which runs
beside the service and does not.
"""

from collections.abc import Callable
from functools import partial
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from perlica.app.capabilities.standing import Standing
from perlica.app.config import Config
from perlica.app.secrets import Secret
from perlica.console import ConsoleSettings, Health, PartStatus
from perlica.domain.actions import ActionCatalog
from perlica.domain.texts import Language, Text, escape_visible
from perlica.gateway.known_actions import CATALOG

_HOUR_MS = 3_600_000


def console_settings(
    config: Config,
    proxy_secret: Secret | None,
    *,
    connection_fault: Callable[[], str] | None = None,
    actions: ActionCatalog = CATALOG,
) -> ConsoleSettings | None:
    """What `start_console` needs; None where no console is configured.

    `connection_fault` says why NapCat is not ready, "" when it is; None where nobody can tell.
    """
    section = config.console
    if section.listen is None:
        return None
    host, _, port = section.listen.rpartition(":")
    return ConsoleSettings(
        host=host.strip("[]"),
        port=int(port),
        public_url=section.public_url or "",
        proxy_secret=proxy_secret.reveal() if proxy_secret else None,
        idle_ms=_idle_ms(config),
        session_ms=section.session_hours * _HOUR_MS,
        login_failures=section.login_failures,
        login_wait_s=section.login_wait_s,
        refresh_s=section.refresh_s,
        threads=section.threads,
        language=config.service.language,
        zone=ZoneInfo(config.service.time_zone),
        parts=partial(_parts, config, connection_fault),
        actions=actions,
        off=frozenset(standing.name for standing in config.capabilities() if not standing.on),
    )


def _idle_ms(config: Config) -> int:
    """What the configuration allows today, as the service itself counts down."""
    section = config.sandbox
    return (section.idle_days if section else 7) * 24 * _HOUR_MS


def _parts(config: Config, connection_fault: Callable[[], str] | None) -> tuple[PartStatus, ...]:
    return (
        _connection(connection_fault),
        _model(config),
        *map(_capability, config.capabilities()),
    )


def _connection(connection_fault: Callable[[], str] | None) -> PartStatus:
    if connection_fault is None:
        return PartStatus(name=_NAPCAT, health=Health.unknown, text=_ELSEWHERE)
    fault = connection_fault()
    if not fault:
        return PartStatus(name=_NAPCAT, health=Health.ok, text=_CONNECTED)
    return PartStatus(
        name=_NAPCAT,
        health=Health.fault,
        text=_filled(_DISCONNECTED, reason=escape_visible(fault)),
        remedy=_LOOK_AT_NAPCAT,
    )


def _model(config: Config) -> PartStatus:
    host = urlsplit(config.model.base_url).hostname or ""
    text = _filled(_MODEL_AT, name=escape_visible(config.model.name), host=escape_visible(host))
    return PartStatus(name=_MODEL, health=Health.unknown, text=text, is_model=True)


def _capability(capability: Standing) -> PartStatus:
    if not capability.on:
        health = Health.off
    else:
        health = Health.warning if capability.experimental else Health.ok
    return PartStatus(
        name=capability.label, health=health, text=capability.reason, remedy=capability.remedy
    )


def _filled(text: Text, **fields: str) -> Text:
    return Text(zh=text.say(Language.zh, **fields), en=text.say(Language.en, **fields))


_NAPCAT = Text(zh="QQ 连接", en="QQ connection")
_CONNECTED = Text(zh="NapCat 已连接，可以收发", en="NapCat is connected and ready")
_DISCONNECTED = Text(zh="NapCat 未就绪（{reason}）", en="NapCat is not ready ({reason})")
_ELSEWHERE = Text(
    zh="控制台单独运行，看不到连接状态", en="this console runs by itself and cannot see it"
)
_LOOK_AT_NAPCAT = Text(
    zh="检查 NapCat 和网络，或执行 perlica doctor",
    en="look at NapCat and the network, or run perlica doctor",
)
_MODEL = Text(zh="模型", en="Model")
_MODEL_AT = Text(zh="{name}，位于 {host}", en="{name} at {host}")
