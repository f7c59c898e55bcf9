"""The scan of one unit: the folded text first, then every derived reading, then encoded blobs.

Called for each unit of a document; hits come back in byte offsets of the unit.
"""

from perlica.protection.budget import Budget
from perlica.protection.folding import fold
from perlica.protection.placeholder import blank
from perlica.protection.rules import DETECTORS
from perlica.protection.sheet import Hit, Sheet
from perlica.protection.view import View


def scan(text: str, budget: Budget) -> list[Hit]:
    """Return all hits in `text`.

    Raises:
        ScanIncomplete: a bound was hit.
    """
    view = fold(text)
    if view is None:
        return _scan_bytes(blank(text.encode()), budget)
    view.data = blank(view.data)
    return [_carried(hit, view) for hit in _scan_bytes(view.data, budget)]


def _scan_bytes(data: bytes, budget: Budget) -> list[Hit]:
    sheet = Sheet(data, budget)
    for detect in DETECTORS:
        detect(sheet)
        budget.check()
    return sheet.hits


def _carried(hit: Hit, view: View) -> Hit:
    start, end = view.to_base(hit.start, hit.end)
    return Hit(start, end, hit.kind, hit.rule, hit.rank)
