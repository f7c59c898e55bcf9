"""What protection would do to a text: for operators who try rules (`perlica protect < file`).

Shows the redacted text and which rule spoke on which line; the secret itself is never part of it.
"""

from dataclasses import dataclass, field

from perlica.protection import document, placeholder
from perlica.protection.entry import protect
from perlica.protection.json_text import is_json
from perlica.protection.rules import is_kind
from perlica.protection.seal import Channel, Protected


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One finding: the line it begins on, counted from 1, its kind and its rule."""

    line: int
    kind: str
    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The protected text and where the findings were; no places when the scan did not end."""

    protected: Protected = field(repr=False)
    places: tuple[Place, ...]


def preview(text: str) -> Preview:
    """Return what `protect` makes of `text`, with the line of each finding. Never raises."""
    protected = protect(text, Channel.CONSOLE)
    if not protected.is_usable or not protected.finding_count:
        return Preview(protected=protected, places=())
    try:
        places = _places(text)
    except Exception:  # noqa: BLE001 - part of the scan boundary: an error may hold what was scanned
        places = ()
    return Preview(protected=protected, places=places)


def _places(text: str) -> tuple[Place, ...]:
    clean = placeholder.escape_look_alikes(text, is_kind)
    data = clean.encode()
    spans = document.find_spans(clean, as_json=is_json(clean))
    return tuple(
        Place(line=data.count(b"\n", 0, span.start) + 1, kind=span.kind, rule=span.rule)
        for span in spans
    )
