"""The words of the grammar: commands, and what can be wrong with one."""

from enum import StrEnum


class CommandName(StrEnum):
    """What stands behind the dot, exactly so; `commands.name` holds these words."""

    approve = "approve"
    deny = "deny"
    status = "status"
    cancel = "cancel"
    tasks = "tasks"
    task = "task"
    audit = "audit"
    recovery = "recovery"
    sbx = "sbx"
    image = "image"
    orphans = "orphans"
    node = "node"
    whoami = "whoami"
    help = "help"


class Mistake(StrEnum):
    """Why a line with a known command is not one; each has a text that says what to type."""

    wrong_form = "wrong_form"
    hidden_signs = "hidden_signs"
    not_first = "not_first"
    quoted = "quoted"
    too_long = "too_long"
    needs_ticket = "needs_ticket"
    needs_code = "needs_code"
    bad_ticket = "bad_ticket"
    bad_code = "bad_code"
    needs_task = "needs_task"
    bad_task = "bad_task"
    bad_operation = "bad_operation"
    needs_reason = "needs_reason"
    needs_name = "needs_name"
    bad_name = "bad_name"
    needs_text = "needs_text"
    bad_digest = "bad_digest"
    bad_number = "bad_number"
    too_many_words = "too_many_words"
    unknown_word = "unknown_word"
