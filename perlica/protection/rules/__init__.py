"""The rules, family by family, and the kinds they name; operators' rules join them at start."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from perlica.protection.rules import (
    chinese,
    commands,
    headers,
    keyed,
    mnemonic,
    private_keys,
    structures,
    tokens,
    urls,
    vendor_tokens,
)
from perlica.protection.sheet import Sheet

Detector = Callable[[Sheet], None]

_FAMILIES: Final = (
    tokens,
    keyed,
    private_keys,
    urls,
    headers,
    chinese,
    commands,
    structures,
    mnemonic,
    vendor_tokens,
)
_OWN: Final[tuple[Detector, ...]] = tuple(family.detect for family in _FAMILIES)
KINDS: Final[frozenset[str]] = frozenset().union(*(family.KINDS for family in _FAMILIES))


class _Extras:
    """What was added to the committed rules: by the operator at start, or by a test."""

    detectors: tuple[Detector, ...] = ()
    kinds: frozenset[str] = frozenset()


def detectors() -> tuple[Detector, ...]:
    """Return all rules in force."""
    return _OWN + _Extras.detectors


def is_kind(kind: str) -> bool:
    """Return whether some rule in force names this kind."""
    return kind in KINDS or kind in _Extras.kinds


def extend(added_detectors: Sequence[Detector], kinds: frozenset[str]) -> None:
    """Put these in the place of earlier additions."""
    _Extras.detectors, _Extras.kinds = tuple(added_detectors), kinds


@contextmanager
def added(detector: Detector) -> Iterator[None]:
    """Add one rule while open."""
    before = _Extras.detectors
    _Extras.detectors = (*before, detector)
    try:
        yield
    finally:
        _Extras.detectors = before
