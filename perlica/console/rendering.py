"""The templates: Bottle's SimpleTemplate, in which every value passes `to_html`.

SimpleTemplate comes with Bottle, so no further library has to be trusted; its one door for values
(`{{…}}`) takes our own escaping, which also shows what is invisible. The unescaped form `{{!…}}` is
used for parts that were rendered here before, in layout.html alone (a test holds that).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

from bottle import SimpleTemplate

from perlica.console.escaping import to_html

FOLDER: Final = Path(__file__).parent / "templates"


class PageTemplate(SimpleTemplate):  # type: ignore[misc]  # bottle ships no types
    """A template whose values, those of included templates too, are escaped by `to_html`."""

    settings: ClassVar[dict[str, Any]] = {"escape_func": to_html}


class Templates:
    """All templates, compiled once."""

    def __init__(self) -> None:
        """Read the folder; a template that cannot be compiled fails the start, not a request."""
        self._templates = {path.stem: _load(path.name) for path in FOLDER.glob("*.html")}

    def render(self, name: str, fields: Mapping[str, object]) -> str:
        """The page or part as HTML."""
        rendered: str = self._templates[name].render(**fields)
        return rendered


def _load(name: str) -> PageTemplate:
    template = PageTemplate(name=name, lookup=[str(FOLDER)])
    template.co  # noqa: B018 - compiles
    return template
