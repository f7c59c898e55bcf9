"""The templates: Bottle's SimpleTemplate, in which every value passes `to_html`.

SimpleTemplate comes with Bottle, so no further library has to be trusted; its one door for values
(`{{…}}`) takes our own escaping, which also shows what is invisible. The unescaped form `{{!…}}` is
used for parts that were rendered here before, in layout.html alone (a test holds that).
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

from bottle import SimpleTemplate

from perlica.console.escaping import to_html
from perlica.domain.errors import Misconfigured

_UNESCAPED: Final = re.compile(r"\{\{\s*!")
FOLDER: Final = Path(__file__).parent / "templates"


class PageTemplate(SimpleTemplate):  # type: ignore[misc]  # bottle ships no types
    """A template whose values, those of included templates too, are escaped by `to_html`."""

    settings: ClassVar[dict[str, Any]] = {"escape_func": to_html}


class Templates:
    """All templates, compiled once."""

    def __init__(self, more: Mapping[str, str] | None = None) -> None:
        """Read the folder, and `more` (name -> text); what cannot be compiled fails the start.

        Raises: Misconfigured when a text has the name of a template of the folder, or the unescaped
        form in it, through which rows would reach a browser as they are.
        """
        self._templates = {path.stem: _load(path.name) for path in FOLDER.glob("*.html")}
        for name, text in (more or {}).items():
            if name in self._templates:
                raise Misconfigured("page_twice", f"there is a template {name} already")
            if _UNESCAPED.search(text):
                raise Misconfigured("page_unescaped", f"template {name}: values must be escaped")
            self._templates[name] = _compiled(PageTemplate(source=text, lookup=[str(FOLDER)]))

    def render(self, name: str, fields: Mapping[str, object]) -> str:
        """The page or part as HTML."""
        rendered: str = self._templates[name].render(**fields)
        return rendered


def _load(name: str) -> PageTemplate:
    return _compiled(PageTemplate(name=name, lookup=[str(FOLDER)]))


def _compiled(template: PageTemplate) -> PageTemplate:
    template.co  # noqa: B018 - compiles
    return template
