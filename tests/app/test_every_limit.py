"""Every number of the configuration has two ends: what lies outside, or is no number, is refused.

The tests walk the sections, so that a key that is added later is held to the same.
"""

import math
import tomllib
import types
import typing
from collections.abc import Iterator, Sequence
from typing import Any

import annotated_types
import pytest
import tomli_w
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from perlica.app import parts
from perlica.app.config import Config, ConfigInvalid, parse_config
from perlica.app.config.values import Seconds
from perlica.stores.retention import RetentionAges
from tests.app.configs import MINIMAL, SANDBOX

BASE = tomllib.loads(MINIMAL + SANDBOX)
DAY_MS = 86_400_000

Place = tuple[str, ...]


def models_in(annotation: Any) -> list[type[BaseModel]]:
    """The sections that an annotation speaks of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in typing.get_args(annotation) for model in models_in(part)]


def parts_of(annotation: Any) -> set[Any]:
    if typing.get_origin(annotation) in {typing.Union, types.UnionType, typing.Annotated}:
        return {kind for part in typing.get_args(annotation) for kind in parts_of(part)}
    return {annotation}


def numbers(model: type[BaseModel], at: Place = ()) -> Iterator[tuple[Place, FieldInfo]]:
    """Every key that takes a number, also in sections of sections."""
    for name, field in model.model_fields.items():
        kinds = parts_of(field.annotation)
        if kinds & {int, float}:
            yield (*at, name), field
        elif typing.get_origin(field.annotation) is not tuple:
            for inner in models_in(field.annotation):
                yield from numbers(inner, (*at, name))


NUMBERS = list(numbers(Config))
IDS = [".".join(place) for place, _ in NUMBERS]


def bounds(field: FieldInfo) -> tuple[float | None, float | None]:
    low = [m.ge for m in field.metadata if isinstance(m, annotated_types.Ge)]
    high = [m.le for m in field.metadata if isinstance(m, annotated_types.Le)]
    return (low[0] if low else None), (high[0] if high else None)  # type: ignore[return-value]


def refusals(place: Place, value: object) -> list[str]:
    """The keys that are refused where this one has that value."""
    table: dict[str, Any] = tomllib.loads(tomli_w.dumps(BASE))
    inner = table
    for step in place[:-1]:
        inner = inner.setdefault(step, {})
    inner[place[-1]] = value
    try:
        parse_config(tomli_w.dumps(table))
    except ConfigInvalid as invalid:
        return [problem.key for problem in invalid.problems]
    return []


def test_the_walk_finds_the_numbers_of_every_section() -> None:
    sections = {place[0] for place, _ in NUMBERS}

    assert len(NUMBERS) > 60
    assert sections >= {"service", "napcat", "model", "task", "approval", "outbox", "retention"}
    assert {"sandbox.limits.memory_bytes", "sandbox.image.revision"} <= set(IDS)


@pytest.mark.parametrize(("place", "field"), NUMBERS, ids=IDS)
def test_every_number_has_a_least_and_a_greatest_value(place: Place, field: FieldInfo) -> None:
    low, high = bounds(field)

    assert low is not None, place
    assert high is not None, place
    assert math.isfinite(low)
    assert math.isfinite(high)
    assert low >= 0


@pytest.mark.parametrize(("place", "field"), NUMBERS, ids=IDS)
def test_what_is_no_number_or_outside_is_refused_by_name(place: Place, field: FieldInfo) -> None:
    low, high = bounds(field)
    assert low is not None
    assert high is not None
    wrong: Sequence[object] = (
        math.nan,
        math.inf,
        -math.inf,
        -1,
        -1e300,
        low - 1,
        high + 1,
        10**18,
        True,
        "7",
    )

    for value in wrong:
        assert ".".join(place) in refusals(place, value), value


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_seconds_are_a_finite_number_also_where_a_key_has_no_bounds(value: float) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Seconds).validate_python(value)


def test_only_messages_can_be_kept_shorter_than_the_specification_says() -> None:
    short = parse_config(MINIMAL + "\n[retention]\nmessages_days = 9\n")

    ages = parts.retention_ages(short)

    assert ages == RetentionAges(message_ms=9 * DAY_MS)
    assert ages.session_ms == 30 * DAY_MS
    assert ages.tool_output_ms == 14 * DAY_MS
    assert ages.audit_ms == 30 * DAY_MS
    assert ages.ticket_ms == 30 * DAY_MS
    assert ages.ticket_after_task_ms == 7 * DAY_MS


@pytest.mark.parametrize("key", ["sessions_days", "outputs_days", "audit_days", "tickets_days"])
def test_a_fixed_age_has_no_key(key: str) -> None:
    assert f"retention.{key}" in refusals(("retention", key), 7)
