"""Every metric that `/metrics` shows, with its meaning and its labels; one registry for a server.

Names end in their unit. Counters and histograms begin at zero with the process; gauges are what was
so at the last look.
"""

from typing import Final

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info
from prometheus_client.process_collector import ProcessCollector

_MOMENTS: Final = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
_WORK: Final = (1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)

# Seconds at which every counter was made: twice as many series for nothing.
prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]


class Process:
    """What the process itself knows."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Register all of them."""
        self.versions = Info("perlica", "The program and what it runs with.", registry=registry)
        self.ready = Gauge(
            "perlica_ready", "1 when /readyz says yes: NapCat and database.", registry=registry
        )
        self.connection_ready = Gauge(
            "perlica_connection_ready", "1 when NapCat is ready for sending.", registry=registry
        )
        self.connection_fault = Gauge(
            "perlica_connection_fault",
            "1 with the reason why NapCat is not ready.",
            ["reason"],
            registry=registry,
        )
        self.actor_up = Gauge(
            "perlica_actor_up", "1 while the actor lives.", ["actor"], registry=registry
        )
        self.queue = Gauge(
            "perlica_queue_length", "Items waiting in memory.", ["queue"], registry=registry
        )
        self.dropped = Counter(
            "perlica_frames_dropped",
            "Frames of NapCat that were dropped: of other groups or accounts, of kinds that mean"
            " nothing here, unreadable, or larger than a frame may be.",
            ["reason"],
            registry=registry,
        )
        ProcessCollector(registry=registry)


class Looks:
    """Whether the looks at the database succeed; without them the other figures are old."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Register all of them."""
        self.readable = Gauge(
            "perlica_database_readable",
            "1 when the last look at the database succeeded.",
            registry=registry,
        )
        self.failures = Counter(
            "perlica_figures_failures",
            "Looks at the database that failed, by the error's code.",
            ["code"],
            registry=registry,
        )
        self.seconds = Histogram(
            "perlica_figures_seconds",
            "Time that a look at the database took.",
            registry=registry,
            buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0),
        )


class Levels:
    """What there is now, read from the tables and the disk."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Register all of them."""

        def gauge(name: str, meaning: str, *labels: str) -> Gauge:
            return Gauge(f"perlica_{name}", meaning, labels, registry=registry)

        self.task = gauge("task_active", "1 for the state of the task that is alive.", "state")
        self.task_age = gauge("task_active_age_seconds", "Age of the task that is alive.")
        self.task_state_age = gauge(
            "task_state_age_seconds", "Time that the living task has been in its state."
        )
        self.tickets = gauge("tickets_pending", "Tickets that wait for an Owner.")
        self.tickets_age = gauge("tickets_pending_age_seconds", "Age of the oldest of them.")
        self.operations = gauge(
            "operations_open", "Operations that have no outcome; unknown: recovery queue.", "state"
        )
        self.operations_age = gauge(
            "operations_open_age_seconds", "Age of the oldest of each.", "state"
        )
        self.outbox = gauge("outbox_open", "Messages that are not settled yet.", "state")
        self.outbox_age = gauge("outbox_open_age_seconds", "Age of the oldest of each.", "state")
        self.commands = gauge("commands_pending", "Dot commands that were not answered yet.")
        self.in_hand = gauge("messages_in_hand", "Messages that intake is working on.")
        self.message_stored = gauge(
            "message_stored_timestamp_seconds", "When the newest message was stored; 0: none."
        )
        self.model_trouble = gauge(
            "model_trouble", "1 for what is wrong with the model's service just now.", "reason"
        )
        self.sandboxes = gauge("sandboxes", "Sandboxes that hold a slot.", "state")
        self.slots_free = gauge("sandbox_slots_free", "Sandboxes that could still be made.")
        self.database = gauge("database_bytes", "Size of the database file.")
        self.database_checked = gauge(
            "database_checked_timestamp_seconds", "When its pages were checked last; 0: never."
        )
        self.database_faults = gauge("database_faults", "Faults that the last check found.")
        self.wal = gauge("database_wal_bytes", "Size of its write-ahead log.")
        self.disk_free = gauge("disk_free_bytes", "Free bytes of the state directory's disk.")
        self.disk_wanted = gauge("disk_wanted_bytes", "Free bytes that it must have left.")
        self.backup = gauge(
            "last_backup_timestamp_seconds", "When the newest backup was made; 0: there is none."
        )
        self.backup_size = gauge("last_backup_bytes", "Size of the newest in its folder; 0: none.")


class Tallies:
    """What has happened since the process began, counted from the rows it left."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Register all of them."""

        def counter(name: str, meaning: str, *labels: str) -> Counter:
            return Counter(f"perlica_{name}", meaning, labels, registry=registry)

        def histogram(
            name: str, meaning: str, buckets: tuple[float, ...], *labels: str
        ) -> Histogram:
            return Histogram(f"perlica_{name}", meaning, labels, registry=registry, buckets=buckets)

        self.messages = counter("messages", "Messages of the group that were stored.", "kind")
        self.unscanned = counter(
            "messages_unscanned", "Messages whose scan did not finish: stored without text."
        )
        self.intake = histogram(
            "intake_delay_seconds", "From sending in the group to our table.", _MOMENTS
        )
        self.redactions = counter(
            "redactions", "Values that protection replaced in texts stored.", "kind", "place"
        )
        self.tasks = counter("tasks_ended", "Tasks that ended.", "state", "reason")
        self.task_seconds = histogram(
            "task_seconds", "From mention to end, waiting for Owners included.", _WORK
        )
        self.task_busy = histogram(
            "task_busy_seconds", "The same without the waiting for Owners.", _WORK
        )
        self.model_calls = counter("model_calls", "Model calls of tasks that ended.")
        self.tool_calls = counter("tool_calls", "Tool calls of tasks that ended.")
        self.tokens = counter("tokens", "Tokens of tasks that ended.", "direction")
        self.operations = counter(
            "operations_ended", "Operations that have an outcome.", "action", "state"
        )
        self.operation_seconds = histogram(
            "operation_seconds", "From start to outcome.", _WORK, "action"
        )
        self.events = counter("audit_events", "Events of the audit.", "kind")
        self.refusals = counter("refusals", "Tool calls that the gateway refused.", "code")
        self.tickets = counter("tickets", "Tickets that were settled.", "outcome")
        self.ticket_seconds = histogram(
            "ticket_decision_seconds", "From asking to an Owner's word.", _WORK
        )
        self.sends = counter("sends", "Messages that were settled.", "kind", "outcome")
        self.send_seconds = histogram(
            "send_seconds", "From wanting to send to being in the group.", _MOMENTS
        )
        self.attempts = counter("send_attempts", "Attempts that the settled messages took.")
        self.doubled = counter("sends_possibly_doubled", "Messages that may stand there twice.")


class Instruments:
    """All of them on one registry."""

    def __init__(self) -> None:
        """Register everything."""
        self.registry = CollectorRegistry(auto_describe=False)
        self.process = Process(self.registry)
        self.looks = Looks(self.registry)
        self.levels = Levels(self.registry)
        self.tallies = Tallies(self.registry)
