"""Reading the policy: one TOML file with a version; anything doubtful in it stops the start.

Wiring reads it once; the gateway judges every plan with it.
"""

import hashlib
import os
import stat
import tomllib
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from importlib import resources
from pathlib import Path
from types import MappingProxyType

from perlica.domain.actions import ActionCatalog
from perlica.domain.errors import Misconfigured
from perlica.domain.plan import Level
from perlica.domain.policy import Policy
from perlica.gateway.core.policy_floor import require_floor

_DIGITS = 12
_REMEDY = "compare it with the packaged perlica/gateway/policy.toml"


def read_policy(path: Path | None) -> Policy:
    """The policy in `path`, or the packaged one; its version ends in a hash of what it says.

    Raises: Misconfigured when the file is missing, not TOML, of another shape, or not ours alone
    to write; when it lies below the specification's floor.
    """
    try:
        text = (
            resources.files("perlica.gateway").joinpath("policy.toml").read_text("utf-8")
            if path is None
            else _read_own(path)
        )
        table = tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise Misconfigured(
            "policy_unreadable", "policy file not readable", remedy=_REMEDY
        ) from error
    return _policy_of(table)


def check_actions(policy: Policy, actions: ActionCatalog) -> None:
    """Refuse a policy that speaks of what does not exist: it would silently judge nothing.

    Raises: Misconfigured, naming each pair of action and scope and what may have been meant.
    """
    known = {(spec.name, scope.value) for spec in actions for scope in spec.scopes}
    unknown = sorted(set(policy.levels) - known)
    if not unknown:
        return
    names = ", ".join(f"{action} in scope {scope}" for action, scope in unknown)
    meant = ", ".join(sorted({_closest(pair, known) for pair in unknown} - {""}))
    remedy = f"perhaps it should be: {meant}" if meant else _REMEDY
    raise Misconfigured("policy_unknown_action", f"policy: there is no {names}", remedy=remedy)


def unnamed_actions(policy: Policy, actions: ActionCatalog) -> tuple[str, ...]:
    """The actions, each with its scope, that a policy leaves out and so blocks."""
    return tuple(
        f"{spec.name} ({scope.value})"
        for spec in actions
        for scope in sorted(spec.scopes)
        if (spec.name, scope.value) not in policy.levels
    )


def _closest(pair: tuple[str, str], known: Collection[tuple[str, str]]) -> str:
    """The known pair that reads most like this one, "" where none does."""
    spoken = {f'"{action}" = ["{scope}"]' for action, scope in known}
    found = get_close_matches(f'"{pair[0]}" = ["{pair[1]}"]', sorted(spoken), n=1, cutoff=0.75)
    return found[0] if found else ""


def _read_own(path: Path) -> str:
    """Whoever can write the policy decides what needs an approval: nobody else may.

    Opened once and without waiting: what is judged is what is read, and a FIFO hangs nothing.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Misconfigured("policy_unreadable", "policy: not a regular file", remedy=_REMEDY)
        others_write = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if others_write or status.st_uid not in {0, os.geteuid()}:
            raise Misconfigured(
                "policy_open_to_others",
                "others can write the policy",
                remedy="give it to root or to the service, and chmod go-w",
            )
        with open(descriptor, encoding="utf-8", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def _policy_of(table: dict[str, object]) -> Policy:
    version = table.get("version")
    if not isinstance(version, str) or not version:
        raise Misconfigured("policy_version", "policy: `version` is missing", remedy=_REMEDY)
    unknown = set(table) - {"version"} - {level.value for level in Level}
    if unknown:
        names = ", ".join(sorted(unknown))
        raise Misconfigured("policy_key", f"policy: unknown key {names}", remedy=_REMEDY)
    levels: dict[tuple[str, str], Level] = {}
    for level in Level:
        for pair in _pairs_of(table.get(level.value, {}), level):
            if pair in levels:
                text = f"policy: {pair[0]} in scope {pair[1]} stands twice"
                raise Misconfigured("policy_twice", text, remedy=_REMEDY)
            levels[pair] = level
    return require_floor(
        Policy(version=f"{version}#{_digest_of(levels)}", levels=MappingProxyType(levels))
    )


def _digest_of(levels: Mapping[tuple[str, str], Level]) -> str:
    """A short hash of what the policy says: a table that was changed is another version."""
    said = [f"{action}\0{scope}\0{level}" for (action, scope), level in sorted(levels.items())]
    return hashlib.sha256("\n".join(said).encode()).hexdigest()[:_DIGITS]


def _pairs_of(section: object, level: Level) -> list[tuple[str, str]]:
    if not isinstance(section, dict):
        raise Misconfigured("policy_section", f"policy: [{level}] is not a table", remedy=_REMEDY)
    pairs: list[tuple[str, str]] = []
    for action, scopes in section.items():
        if not isinstance(scopes, list) or not all(isinstance(scope, str) for scope in scopes):
            text = f"policy: [{level}] {action} must be a list of scopes"
            raise Misconfigured("policy_scopes", text, remedy=_REMEDY)
        pairs.extend((str(action), scope) for scope in scopes)
    return pairs
