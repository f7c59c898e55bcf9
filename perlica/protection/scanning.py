"""The scan of one unit: the folded text first, then every derived reading, then encoded blobs.

Called for each unit of a document; hits come back in byte offsets of the unit.
"""

from bisect import bisect_right
from typing import Final

from perlica.protection.blobs import open_blobs
from perlica.protection.budget import Budget
from perlica.protection.folding import fold
from perlica.protection.placeholder import blank
from perlica.protection.readings import crosses, rejoin, unescape
from perlica.protection.rules import detectors
from perlica.protection.runs import Run
from perlica.protection.sealed import sealed_stretches
from perlica.protection.sheet import Hit, Sheet
from perlica.protection.view import BORDER, View

_ROUNDS: Final = 3
_CHECKED_AFTER_EACH_RULE_BYTES: Final = 4096
"""A look at the clocks costs as much as most rules do on a short text."""


def scan(data: bytes, budget: Budget) -> list[Hit]:
    """Return all hits in UTF-8 `data`.

    Raises:
        ScanIncomplete: a bound was hit.
    """
    view = fold(data, budget)
    if view is None:
        return _scan_bytes(blank(data), budget, rounds=_ROUNDS, depth=0)
    found = _scan_bytes(blank(view.data), budget, rounds=_ROUNDS, depth=0)
    return [_carried(hit, view) for hit in found]


def _scan_bytes(data: bytes, budget: Budget, *, rounds: int, depth: int) -> list[Hit]:
    sheet = _detected(data, budget, depth)
    wrapped = rejoin(data, budget)
    if wrapped:
        view, seams = wrapped
        budget.spend_view(len(view.data))
        joined = _detected(view.data, budget, depth).hits
        _note(sheet, [hit for hit in joined if crosses(seams, hit.start, hit.end)], view)
    plain = unescape(data, budget) if rounds else None
    if plain:
        budget.spend_view(len(plain.data))
        _note(sheet, _scan_inner(plain.data, budget, rounds=rounds - 1, depth=depth), plain)
    sealed = sealed_stretches(data)
    return [hit for hit in sheet.hits if not _is_within(sealed, hit)] if sealed else sheet.hits


def _detected(data: bytes, budget: Budget, depth: int) -> Sheet:
    sheet = Sheet(data, budget)
    for detect in detectors():
        detect(sheet)
        if len(data) > _CHECKED_AFTER_EACH_RULE_BYTES:
            budget.check()
    budget.check()
    _scan_blobs(sheet, depth)
    return sheet


def _is_within(stretches: list[Run], hit: Hit) -> bool:
    number = bisect_right(stretches, hit.start, key=_start_of) - 1
    return number >= 0 and hit.end <= stretches[number][1]


def _start_of(stretch: Run) -> int:
    return stretch[0]


def _note(sheet: Sheet, hits: list[Hit], view: View) -> None:
    for hit in hits:
        carried = _carried(hit, view)
        sheet.add(carried.start, carried.end, kind=hit.kind, rule=hit.rule, rank=hit.rank)


def _scan_inner(data: bytes, budget: Budget, *, rounds: int, depth: int) -> list[Hit]:
    """Scan a derived reading, folded anew: an escape may have hidden a look-alike."""
    view = fold(data, budget)
    if view is None:
        return _scan_bytes(data, budget, rounds=rounds, depth=depth)
    found = _scan_bytes(view.data, budget, rounds=rounds, depth=depth)
    return [_carried(hit, view) for hit in found]


def _scan_blobs(sheet: Sheet, depth: int) -> None:
    """Scan what is in the blobs, all of them in one text with borders between."""
    blobs = list(open_blobs(sheet, depth))
    if not blobs:
        return
    starts, at = [], 0
    for blob in blobs:
        at += len(BORDER)
        starts.append(at)
        at += len(blob.content)
    inside = BORDER + BORDER.join(blank(blob.content) for blob in blobs)
    for hit in _scan_inner(inside, sheet.budget, rounds=1, depth=depth + 1):
        blob = blobs[bisect_right(starts, hit.start) - 1]
        sheet.add(blob.start, blob.end, kind=hit.kind, rule=f"blob.{hit.rule}", rank=30)


def _carried(hit: Hit, view: View) -> Hit:
    start, end = view.to_base(hit.start, hit.end)
    return Hit(start, end, hit.kind, hit.rule, hit.rank)
