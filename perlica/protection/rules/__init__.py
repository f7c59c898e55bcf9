"""The rules, family by family, and the kinds they name."""

from collections.abc import Callable

from perlica.protection.rules import keyed, tokens
from perlica.protection.sheet import Sheet

Detector = Callable[[Sheet], None]

DETECTORS: tuple[Detector, ...] = (tokens.detect, keyed.detect)
KINDS: frozenset[str] = tokens.KINDS
