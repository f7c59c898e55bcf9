"""Turning SQLite's errors into Perlica's, in this one place.

`database` runs every statement inside `translated()`, so that no caller sees an `apsw` error that
he could do something about. Messages of SQLite name tables, columns and rules, never values.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import apsw

from perlica.domain.errors import (
    Misconfigured,
    PerlicaError,
    Refused,
    Retryable,
    StoreUnavailable,
)

_RULES: Final[tuple[tuple[str, str, str], ...]] = (
    ("index 'one_active_task'", "task_active", "another task is alive"),
    ("tasks.trigger_row", "task_exists", "this message has made its task already"),
    ("sandboxes.name", "sandbox_name_taken", "这个沙箱名正在使用，或清理尚未确认"),
    ("sandboxes.slot", "sandbox_capacity", "沙箱数量已达上限"),
    ("the image is being switched", "image_switching", "正在更换沙箱镜像，完成前不能创建沙箱"),
    ("not the global image", "image_changed", "沙箱镜像已经变了"),
    ("sandboxes of the old image exist", "old_image_in_use", "还有旧镜像的沙箱"),
    ("image_switches.ticket_id", "ticket_spent", "this ticket has paid for a switch already"),
    ("index 'image_switches_one'", "image_switching", "another image switch is not through"),
    ("approvals.call_id", "ticket_living", "this call waits for a ticket already"),
    ("operations.ticket_id", "ticket_spent", "this ticket has paid for an operation already"),
    ("operations.call_id", "call_executed", "this call has its operation already"),
    ("outbox_messages.idempotency_key", "already_enqueued", "this message is enqueued already"),
    ("outbox_messages_one_sending", "send_in_flight", "another send is in flight"),
    ("not the target group", "other_group", "the row belongs to another group"),
    ("the target group stays", "other_group", "a database never changes its group"),
    ("the task has ended", "task_ended", "the task has ended"),
    ("the ticket is spent or dead", "ticket_dead", "the ticket is spent or dead"),
    ("no ticket for this plan", "no_ticket", "no ticket was drawn for this plan"),
    ("the ticket is not consumed", "ticket_not_consumed", "the ticket is not consumed"),
)
"""What SQLite says when a rule is broken, our code for it, and its text."""

_NEW_IDS: Final = ("tasks.id", "approvals.id")
"""Ids drawn at random: a clash means to draw again."""


_PROGRAMMING: Final = (
    apsw.BindingsError,
    apsw.ConnectionClosedError,
    apsw.CursorClosedError,
    apsw.ExecutionCompleteError,
    apsw.ForkingViolationError,
    apsw.IncompleteExecutionError,
    apsw.InvalidContextError,
    apsw.MisuseError,
    apsw.ThreadingViolationError,
)
"""Mistakes in our own code: they say nothing about the world, and nobody can do anything."""


@contextmanager
def translated() -> Iterator[None]:
    """Run a block; whatever SQLite says about the world leaves it as an error of ours.

    Raises: Refused (a rule of the schema), StoreUnavailable (locked, full), Misconfigured (file).
    """
    try:
        yield
    except apsw.ConstraintError as error:
        raise _broken_rule(str(error)) from error
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreUnavailable("database_busy", "another writer holds the database") from error
    except apsw.FullError as error:
        raise StoreUnavailable(
            "database_full", "the disk of the database is full", remedy="free disk space"
        ) from error
    except (apsw.CorruptError, apsw.NotADBError, apsw.FormatError) as error:
        raise Misconfigured(
            "database_corrupt",
            "the database is damaged",
            remedy="`perlica doctor` says where; restore a backup, or rebuild the index alone",
        ) from error
    except (apsw.IOError, apsw.CantOpenError, apsw.ReadOnlyError) as error:
        raise Misconfigured(
            "database_unusable",
            f"the database cannot be read or written ({type(error).__name__})",
            remedy="check the disk and the permissions of the database's directory",
        ) from error
    except _PROGRAMMING:
        raise
    except (apsw.NoFTS5Error, apsw.ExtensionLoadingError) as error:
        raise Misconfigured(
            "no_full_text",
            "this SQLite has no full-text search (FTS5)",
            remedy="install apsw from its wheel, which brings an SQLite of its own",
        ) from error
    except apsw.SQLError as error:
        raise _unfit_schema(str(error)) from error
    except apsw.Error as error:
        raise Misconfigured(
            "database_fault",
            f"SQLite failed ({type(error).__name__})",
            remedy="`perlica doctor` looks at the database; restore a backup if it is damaged",
        ) from error


def _unfit_schema(said: str) -> PerlicaError:
    """A table or column that the program expects is not there, or its SQL cannot be read."""
    if "fts5" in said and "no such module" in said:
        return Misconfigured(
            "no_full_text",
            "this SQLite has no full-text search (FTS5)",
            remedy="install apsw from its wheel, which brings an SQLite of its own",
        )
    if "no such table" in said and said.endswith("message_index"):
        return Misconfigured(
            "index_missing",
            "the search index is missing or damaged",
            remedy="stop the service and run `perlica rebuild-index`",
        )
    return Misconfigured(
        "schema_unfit",
        f"the database's schema is not what the program expects: {said}",
        remedy="`perlica doctor` looks at the database; restore a backup if it is damaged",
    )


def _broken_rule(said: str) -> PerlicaError:
    for fragment, code, text in _RULES:
        if fragment in said:
            return Refused(code, text)
    if any(said.endswith(f"constraint failed: {column}") for column in _NEW_IDS):
        return Retryable("id_taken", "the id that was drawn is in use; draw another")
    return Refused("constraint", f"the schema forbids it: {said}")
