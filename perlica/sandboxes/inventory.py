"""What the tables say of a node against what the node says of itself. Pure.

The node watch compares after every good look and acts only on what two looks in a row show: a look
may have been under way while a job ended.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from perlica.domain.ids import RowId
from perlica.domain.sandbox import BackendSandbox, SandboxState
from perlica.stores.orphans import Orphan
from perlica.stores.sandboxes import SandboxRow


class Difference(StrEnum):
    """`missing`: what should be there is not. `gone`: what should not be there is not, as hoped.

    `stray`: what should not be there is. `unnamed`: a creation of unknown outcome did make one.
    `other_image`: it is made of another image than its row says.
    """

    missing = "missing"
    gone = "gone"
    stray = "stray"
    unnamed = "unnamed"
    other_image = "other_image"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One difference; equal findings of two looks are the same difference."""

    difference: Difference
    sandbox: RowId | None
    name: str
    instance: str
    found: BackendSandbox | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Books:
    """What the tables say of one node: its living rows, its open orphans, lives in motion."""

    living: Sequence[SandboxRow]
    orphans: Sequence[Orphan]
    is_in_motion: Callable[[RowId], bool]


_PRESENT = frozenset({SandboxState.ready, SandboxState.stopped})


def compare(books: Books, found: Sequence[BackendSandbox]) -> frozenset[Finding]:
    """Every difference between the books of a node and what lies on it."""
    by_instance = {sandbox.instance: sandbox for sandbox in found}
    by_name = {sandbox.name: sandbox for sandbox in found}
    findings: set[Finding] = set()
    for row in books.living:
        if not books.is_in_motion(row.id):
            findings |= _look_at(row, by_instance.get(row.instance), by_name.get(row.name))
    explained = {row.instance for row in books.living if row.instance}
    unexplained_names = {row.name for row in books.living if not row.instance}
    for sandbox in found:
        if sandbox.instance not in explained and sandbox.name not in unexplained_names:
            findings.add(_finding(Difference.stray, None, sandbox))
    living = {row.id for row in books.living}
    for orphan in books.orphans:
        is_settled = orphan.sandbox_id not in living and orphan.instance not in by_instance
        if is_settled and not books.is_in_motion(orphan.sandbox_id):
            findings.add(
                Finding(
                    difference=Difference.gone,
                    sandbox=orphan.sandbox_id,
                    name=orphan.name,
                    instance=orphan.instance,
                )
            )
    return frozenset(findings)


def _look_at(
    row: SandboxRow, found: BackendSandbox | None, namesake: BackendSandbox | None
) -> set[Finding]:
    """What is to be said of one living row that nothing is being done to."""
    if row.state in _PRESENT:
        if found is None:
            return {_of_row(Difference.missing, row)}
        if found.image_digest != row.image_digest:
            return {_of_row(Difference.other_image, row, found)}
    elif row.state is SandboxState.unconfirmed:
        if not row.instance and namesake is not None:
            return {_of_row(Difference.unnamed, row, namesake)}
        if found is None:
            return {_of_row(Difference.gone, row)}
    return set()


def _of_row(
    difference: Difference, row: SandboxRow, found: BackendSandbox | None = None
) -> Finding:
    return Finding(
        difference=difference,
        sandbox=row.id,
        name=row.name,
        instance=found.instance if found else row.instance,
        found=found,
    )


def _finding(difference: Difference, sandbox: RowId | None, found: BackendSandbox) -> Finding:
    return Finding(
        difference=difference,
        sandbox=sandbox,
        name=found.name,
        instance=found.instance,
        found=found,
    )
