"""Reading the policy: one TOML file with a version; anything doubtful in it stops the start.

Wiring reads it once; the gateway judges every plan with it.
"""

import tomllib
from importlib import resources
from pathlib import Path
from types import MappingProxyType

from perlica.domain.errors import Misconfigured
from perlica.domain.plan import Level
from perlica.domain.policy import Policy

_REMEDY = "compare it with the packaged perlica/gateway/policy.toml"


def read_policy(path: Path | None) -> Policy:
    """The policy in `path`, or the packaged one.

    Raises: Misconfigured when the file is missing, not TOML, or of another shape.
    """
    try:
        text = (
            resources.files("perlica.gateway").joinpath("policy.toml").read_text("utf-8")
            if path is None
            else path.read_text("utf-8")
        )
        table = tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise Misconfigured(
            "policy_unreadable", "policy file not readable", remedy=_REMEDY
        ) from error
    return _policy_of(table)


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
    return Policy(version=version, levels=MappingProxyType(levels))


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
