"""The configuration translated into the settings of each part; nothing is opened here."""

from collections.abc import Callable
from zoneinfo import ZoneInfo

from actors.coordinator.progress import ProgressSettings
from actors.outbox.actor import OutboxSettings
from actors.outbox.reconciliation import ReconciliationSettings
from actors.protection.intake import IntakeSettings
from perlica.app.capabilities.gate_report import judge_settings
from perlica.app.config import Config
from perlica.app.config.sections import SandboxSection
from perlica.app.policy_change import context_version
from perlica.app.secrets import Secrets
from perlica.clients.model.settings import Api, Dialect, MaxTokensField, ModelSettings
from perlica.clients.napcat import CatchUpSettings, NapCatSettings
from perlica.clients.sandboxd import SandboxdSettings, TlsAddress
from perlica.commands.facts import CapabilityOff
from perlica.commands.handlers import CommandHandler
from perlica.commands.sandbox_handler import Members
from perlica.domain.actions import ActionCatalog
from perlica.domain.errors import Misconfigured
from perlica.domain.ids import GroupId, UserId
from perlica.domain.node import LossRule
from perlica.domain.sandbox import IDLE_MS_AT_MOST, SandboxImage, SandboxLimits
from perlica.gateway.families.history.settings import HistorySettings
from perlica.gateway.families.sandbox.settings import SandboxSettings
from perlica.protection import Channel, protect
from perlica.session.budgets import Budgets
from perlica.session.window import WindowLimits
from perlica.session.wrapper import WrapSettings
from perlica.stores.retention import RetentionAges
from sandboxd.wire import HealthReport

_DAY_MS = 86_400_000
_MINUTE_MS = 60_000


def napcat_settings(config: Config, secrets: Secrets) -> NapCatSettings:
    """How to reach NapCat."""
    section = config.napcat
    reverse = section.listen is not None
    return NapCatSettings(
        url=f"ws://{section.listen}" if reverse else section.url or "",
        reverse=reverse,
        token=secrets.napcat_token.reveal(),
        group_id=GroupId(section.group_id),
        self_id=UserId(section.self_id),
        connect_within_s=section.connect_within_s,
        call_within_s=section.call_within_s,
        ping_every_s=section.ping_every_s,
        dead_after_s=section.silence_within_s,
        backoff_cap_s=section.reconnect_at_most_s,
        frame_limit_bytes=section.max_frame_bytes,
        catch_up=CatchUpSettings(page_messages=section.catch_up_messages),
    )


def model_settings(config: Config, secrets: Secrets) -> ModelSettings:
    """How to reach the model."""
    section = config.model
    key = secrets.model_key
    return ModelSettings(
        base_url=section.base_url,
        model=section.name,
        api=Api(section.api),
        key=key.reveal if key is not None else None,
        dialect=Dialect(section.dialect),
        max_tokens_field=MaxTokensField(section.max_tokens_field),
        max_output_tokens=section.max_output_tokens,
        allows_plain_http=True,  # the configuration allows it inside the network only
        connect_s=section.connect_within_s,
        first_token_s=section.first_token_within_s,
        attempt_s=section.call_within_s,
        total_s=section.total_within_s,
        max_attempts=section.max_tries,
    )


def outbox_settings(config: Config) -> OutboxSettings:
    """How to send."""
    section = config.outbox
    return OutboxSettings(
        pace_s=section.pace_s,
        per_minute=section.per_minute,
        busy_every_s=section.busy_every_s,
        max_attempts=section.max_attempts,
        napcat_within_s=section.napcat_within_s,
        answer_within_s=section.answer_within_s,
        muted_for_s=section.muted_for_s,
        reconciliation=ReconciliationSettings(
            self_message_within_s=section.self_message_within_s,
            history_messages=section.history_messages,
        ),
    )


def intake_settings(config: Config, policy_version: str) -> IntakeSettings:
    """Whom to listen to."""
    return IntakeSettings(
        group_id=GroupId(config.napcat.group_id),
        self_id=UserId(config.napcat.self_id),
        owners=config.owners,
        members=config.listed,
        language=config.service.language,
        trigger_code_points=config.task.window_code_points,
        fresh_within_ms=int(config.napcat.mention_age_s * 1000),
        busy_every_ms=max(1, int(config.outbox.busy_every_s * 1000)),
        receipt_emoji_id=config.outbox.receipt_emoji_id,
        policy_version=policy_version,
        context_version=context_version(config),
    )


def command_handler(
    config: Config, connection_fault: Callable[[], str], actions: ActionCatalog
) -> CommandHandler:
    """Who may command, and what `.status` says of capabilities."""
    language = config.service.language
    return CommandHandler(
        owners=config.owners,
        members=config.listed,
        language=language,
        actions=actions,
        capabilities_off=tuple(
            CapabilityOff(name=c.label.say(language), reason=c.reason.say(language))
            for c in config.capabilities()
            if not c.on
        ),
        connection_fault=connection_fault,
        zone=zone(config),
        idle_ms=idle_ms(config),
    )


def progress_settings(config: Config) -> ProgressSettings:
    """When a long task says that it still works."""
    section = config.task
    return ProgressSettings(
        after_ms=int(section.progress_after_s * 1000),
        every_ms=int(section.progress_every_s * 1000),
        most_lines=section.max_progress_lines,
        language=config.service.language,
    )


def budgets(config: Config) -> Budgets:
    """What a task may use."""
    section = config.task
    return Budgets(
        model_calls=section.max_model_calls,
        tool_calls=section.max_tool_calls,
        tokens=section.max_tokens,
        equal_calls_in_a_row=section.max_equal_calls,
    )


def window_limits(config: Config) -> WindowLimits:
    """The three limits of the window."""
    section = config.task
    return WindowLimits(
        age_ms=section.window_minutes * _MINUTE_MS,
        messages=section.window_messages,
        code_points=section.window_code_points,
    )


def zone(config: Config) -> ZoneInfo:
    """The time zone of shown times."""
    return ZoneInfo(config.service.time_zone)


def history_settings(config: Config) -> HistorySettings:
    """The limits of reading the group's history."""
    return HistorySettings(
        messages=config.task.window_messages,
        code_points=config.task.window_code_points,
        days=config.retention.messages_days,
        zone=zone(config),
    )


def sandbox_settings(config: Config) -> SandboxSettings:
    """The limits that the sandbox tools keep.

    Raises: Misconfigured when no sandbox section is there.
    """
    section = config.sandbox
    if section is None:
        raise Misconfigured("sandbox_missing", "the section [sandbox] is missing")
    limits = section.limits
    return SandboxSettings(
        nodes=section.node_names,
        limits=SandboxLimits(
            memory_bytes=limits.memory_bytes,
            pids=limits.pids,
            cpu_millis=limits.cpu_millis,
            disk_bytes=limits.disk_bytes,
            nofile=limits.nofile,
        ),
        network=section.network,
        idle_ms=idle_ms(config),
        exec_within_s=int(section.exec_within_s),
        output_limit_bytes=section.output_limit_bytes,
        read_limit_bytes=section.file_limit_bytes,
    )


def idle_ms(config: Config) -> int:
    """After how long without a use a sandbox is deleted."""
    return config.sandbox.idle_days * _DAY_MS if config.sandbox else IDLE_MS_AT_MOST


def node_settings(
    section: SandboxSection,
    epoch: int,
    *,
    admit: Callable[[HealthReport], None] | None = None,
) -> dict[str, SandboxdSettings]:
    """How to reach each node, the first one first; `admit` says which may be used."""
    sockets = {section.node: section.socket, **{node.name: node.socket for node in section.nodes}}
    settings = {
        name: SandboxdSettings(socket_path=socket, epoch=epoch, node=name, admit=admit)
        for name, socket in sockets.items()
    }
    for node in section.remote_nodes:
        host, _, port = node.address.rpartition(":")
        tls = TlsAddress(
            host=host.strip("[]"),
            port=int(port),
            server_name=node.server_name,
            authority=node.authority_file,
            certificate=node.certificate_file,
            key=node.key_file,
        )
        settings[node.name] = SandboxdSettings(
            socket_path=section.socket, epoch=epoch, node=node.name, tls=tls, admit=admit
        )
    return settings


def compare_nodes(config: Config, *, may_be_silent: bool) -> Config:
    """The configuration with the verdict on its nodes; asks them only where a report is named."""
    section = config.sandbox
    if section is None or section.gate_report is None:
        return config
    nodes = node_settings(section, epoch=0)
    return config.with_gate(judge_settings(section.gate_report, nodes, may_be_silent=may_be_silent))


def loss_rule(section: SandboxSection) -> LossRule:
    """When silence of a node counts."""
    return LossRule(loss_after_s=section.loss_after_s, least_looks=section.loss_looks)


def members(config: Config) -> Members:
    """Who may give orders."""
    return Members(
        group_id=GroupId(config.napcat.group_id), owners=config.owners, listed=config.listed
    )


def image_of(section: SandboxSection) -> SandboxImage:
    """The configured global image, its introduction protected.

    Raises: Misconfigured when that could not be scanned to its end.
    """
    image = section.image
    introduction = protect(image.introduction, Channel.TOOL_ARGUMENTS)
    if not introduction.is_usable:
        raise Misconfigured(
            "introduction_unscannable", "sandbox.image.introduction could not be scanned"
        )
    return SandboxImage(
        reference=image.reference,
        digest=image.digest,
        introduction=introduction.content,
        revision=image.revision,
    )


def wrap_settings(config: Config) -> WrapSettings:
    """How much of tool results the model is shown: at most what it can read, counted as Chinese."""
    return WrapSettings(zone=zone(config), total_code_points=config.model.context_tokens)


def retention_ages(config: Config) -> RetentionAges:
    """How long records are kept: by the specification's fixed ages but for messages."""
    return RetentionAges(message_ms=config.retention.messages_days * _DAY_MS)
