"""The scan of one unit: the folded text first, then every derived reading, then encoded blobs.

Called for each unit of a document; hits come back in byte offsets of the unit.
"""

from typing import Final

from perlica.protection.blobs import open_blobs
from perlica.protection.budget import Budget
from perlica.protection.folding import fold
from perlica.protection.placeholder import blank
from perlica.protection.readings import derive
from perlica.protection.rules import DETECTORS
from perlica.protection.sheet import Hit, Sheet
from perlica.protection.view import View

_ROUNDS: Final = 3


def scan(text: str, budget: Budget) -> list[Hit]:
    """Return all hits in `text`.

    Raises:
        ScanIncomplete: a bound was hit.
    """
    view = fold(text)
    if view is None:
        return _scan_bytes(blank(text.encode()), budget, rounds=_ROUNDS, depth=0)
    found = _scan_bytes(blank(view.data), budget, rounds=_ROUNDS, depth=0)
    return [_carried(hit, view) for hit in found]


def _scan_bytes(data: bytes, budget: Budget, *, rounds: int, depth: int) -> list[Hit]:
    sheet = Sheet(data, budget)
    for detect in DETECTORS:
        detect(sheet)
        budget.check()
    _scan_blobs(sheet, depth)
    if rounds:
        _scan_readings(sheet, rounds, depth)
    return sheet.hits


def _scan_readings(sheet: Sheet, rounds: int, depth: int) -> None:
    for reading in derive(sheet.data):
        sheet.budget.spend_view(len(reading.view.data))
        for hit in _scan_inner(reading.view.data, sheet.budget, rounds=rounds - 1, depth=depth):
            if not reading.seams or any(hit.start < seam < hit.end for seam in reading.seams):
                carried = _carried(hit, reading.view)
                sheet.add(carried.start, carried.end, kind=hit.kind, rule=hit.rule, rank=hit.rank)


def _scan_inner(data: bytes, budget: Budget, *, rounds: int, depth: int) -> list[Hit]:
    """Scan a derived reading, folded anew: an escape may have hidden a look-alike."""
    if data.isascii():
        return _scan_bytes(data, budget, rounds=rounds, depth=depth)
    view = fold(data.decode(errors="surrogateescape")) if _is_utf8(data) else None
    if view is None:
        return _scan_bytes(data, budget, rounds=rounds, depth=depth)
    found = _scan_bytes(view.data, budget, rounds=rounds, depth=depth)
    return [_carried(hit, view) for hit in found]


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _scan_blobs(sheet: Sheet, depth: int) -> None:
    for blob in open_blobs(sheet.data, sheet.budget, depth):
        inner = _scan_inner(blank(blob.content), sheet.budget, rounds=1, depth=depth + 1)
        if inner:
            best = max(inner, key=lambda hit: hit.rank)
            sheet.add(blob.start, blob.end, kind=best.kind, rule=f"blob.{best.rule}", rank=30)


def _carried(hit: Hit, view: View) -> Hit:
    start, end = view.to_base(hit.start, hit.end)
    return Hit(start, end, hit.kind, hit.rule, hit.rank)
