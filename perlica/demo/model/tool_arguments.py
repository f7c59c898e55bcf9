"""Fills a declared tool's parameters from what an instruction means; pure.

The rehearsal model works with any schema that resembles Perlica's: names are matched by meaning,
missing required parameters are filled from the schema itself.
"""

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]
MEANINGS: Mapping[str, str] = {
    "sandbox": "sandbox",
    "sandbox_name": "sandbox",
    "name": "sandbox",
    "argv": "command",
    "command": "command",
    "cmd": "command",
    "script": "command",
    "path": "path",
    "file": "path",
    "filename": "path",
    "content": "content",
    "text": "content",
    "action": "action",
    "operation": "action",
    "purpose": "purpose",
    "description": "purpose",
    "query": "query",
    "q": "query",
    "keywords": "query",
    "limit": "limit",
    "count": "limit",
    "max_results": "limit",
}
SHELL = ("/bin/sh", "-c")
_EMPTY: Mapping[str, object] = {
    "string": "",
    "boolean": False,
    "array": [],
    "object": {},
    "null": None,
}


def fill_arguments(schema: Schema, meant: Mapping[str, object]) -> dict[str, object]:
    """Arguments for `schema`; `meant` has keys such as sandbox, command, path, content, action."""
    variant = _variant(schema, schema, meant)
    required = set(variant.get("required", ()))
    filled: dict[str, object] = {}
    for name, declared in variant.get("properties", {}).items():
        property_schema = _resolve(schema, declared)
        meaning = MEANINGS.get(name, name)
        if meaning in meant:
            filled[name] = _shaped(property_schema, meaning, meant[meaning])
        elif name in required:
            filled[name] = _made_up(property_schema)
    return filled


def _variant(root: Schema, schema: Schema, meant: Mapping[str, object]) -> Schema:
    """The branch of a union that takes the meant action; the schema itself when it is no union."""
    schema = _resolve(root, schema)
    branches = schema.get("oneOf") or schema.get("anyOf")
    if not branches:
        return schema
    resolved = [_resolve(root, branch) for branch in branches]
    return next((branch for branch in resolved if _takes(root, branch, meant)), resolved[0])


def _takes(root: Schema, branch: Schema, meant: Mapping[str, object]) -> bool:
    action = _resolve(root, branch.get("properties", {}).get("action", {}))
    allowed = action.get("enum", [action["const"]] if "const" in action else [])
    return meant.get("action") in allowed


def _resolve(root: Schema, schema: Schema) -> Schema:
    """Follow `#/$defs/…`; of `anyOf` with null, the other branch."""
    while "$ref" in schema:
        target: Any = root
        for step in str(schema["$ref"]).removeprefix("#/").split("/"):
            target = target[step]
        schema = target
    branches = schema.get("anyOf")
    if branches and "type" not in schema and "properties" not in schema:
        real = [branch for branch in branches if branch.get("type") != "null"]
        if len(real) == 1 and len(branches) > 1:
            return _resolve(root, real[0])
    return schema


def _shaped(schema: Schema, meaning: str, value: object) -> object:
    if meaning == "command" and schema.get("type") == "array":
        return [*SHELL, str(value)]
    if schema.get("type") == "integer" and isinstance(value, int):
        return min(max(value, schema.get("minimum", value)), schema.get("maximum", value))
    return value


def _made_up(schema: Schema) -> object:
    """Something the schema allows: its default, constant, first choice or example, else empty."""
    for key in ("default", "const"):
        if key in schema:
            return schema[key]
    for key in ("enum", "examples"):
        if schema.get(key):
            return schema[key][0]
    if schema.get("type") in {"integer", "number"}:
        return schema.get("minimum", 1)
    empty = _EMPTY.get(str(schema.get("type", "string")), "")
    return "-" * schema.get("minLength", 0) if empty == "" else empty
