"""The rules, family by family, and the kinds they name."""

from collections.abc import Callable

from perlica.protection.rules import chinese, commands, headers, keyed, mnemonic, private_keys, structures, tokens, urls, vendor_tokens
from perlica.protection.sheet import Sheet

Detector = Callable[[Sheet], None]

DETECTORS: tuple[Detector, ...] = (
    tokens.detect,
    keyed.detect,
    private_keys.detect,
    urls.detect,
    headers.detect,
    chinese.detect,
    commands.detect,
    structures.detect,
    mnemonic.detect,
    vendor_tokens.detect,
)
KINDS: frozenset[str] = (
    tokens.KINDS | keyed.KINDS | private_keys.KINDS | urls.KINDS | headers.KINDS | chinese.KINDS | commands.KINDS | structures.KINDS | mnemonic.KINDS | vendor_tokens.KINDS
)
