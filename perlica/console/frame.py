"""What stands around a page: the layout with the list of pages, the login page, error pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perlica.console.asked import Asked, Theme
from perlica.console.entrance import Visitor
from perlica.console.files import StaticFiles
from perlica.console.navigation import list_pages
from perlica.console.pages.context import Page, PageContext
from perlica.console.pages.pieces import is_digest
from perlica.console.pages.spec import PageSpec
from perlica.console.rendering import Templates
from perlica.console.settings import ConsoleSettings
from perlica.console.snapshots import Snapshot
from perlica.console.wording import Wording
from perlica.domain.clock import now_ms
from perlica.domain.texts import Language

_LANGUAGE_TAGS = {Language.zh: "zh-CN", Language.en: "en"}
_OTHER_LANGUAGE = {Language.zh: Language.en, Language.en: Language.zh}


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """Renders; knows nothing of requests."""

    settings: ConsoleSettings
    templates: Templates
    files: StaticFiles
    pages: Sequence[PageSpec]

    def wording(self, language: Language) -> Wording:
        """How a page of this moment speaks."""
        return Wording(
            language=language,
            zone=self.settings.zone,
            now_ms=now_ms(),
            actions=self.settings.actions,
        )

    def take_snapshot(self, context: PageContext, page: Page) -> Snapshot:
        """A page's inside, the same for every visitor."""
        wording = context.wording
        items = list_pages(
            self.pages,
            context.database,
            context.asked.path,
            wording,
            off=self.settings.off,
        )
        words = {"say": wording.say, "is_digest": is_digest, "title": page.title}
        return Snapshot(
            title=page.title,
            news=page.news,
            navigation=self.templates.render("navigation", {**words, "items": items}),
            content=self.templates.render(page.template, {**words, **page.fields}),
            status=page.status,
            age_s=page.age_s,
        )

    def render_page(self, asked: Asked, snapshot: Snapshot, visitor: Visitor) -> str:
        """A whole page for one visitor."""
        inside = {
            **_inside(snapshot),
            "visitor": visitor,
            "refresh_ms": int(self.settings.refresh_s * 1000),
            "zone": str(self.settings.zone),
        }
        return self.templates.render("layout", {**self._frame_fields(asked), **inside})

    def render_part(self, asked: Asked, snapshot: Snapshot) -> str:
        """What an open page puts in place of what it shows."""
        language = {"language": _LANGUAGE_TAGS[asked.language]}
        return self.templates.render("part", {**language, **_inside(snapshot)})

    def render_login(self, asked: Asked, *, message: str, next_path: str) -> str:
        """The login page; `message` says what was wrong."""
        fields = {"message": message, "next_path": next_path}
        return self.templates.render("login", {**self._frame_fields(asked), **fields})

    def render_error(self, asked: Asked, text: str, hint: str = "") -> str:
        """A page that says what went wrong."""
        fields = {"text": text, "hint": hint}
        return self.templates.render("failure", {**self._frame_fields(asked), **fields})

    def _frame_fields(self, asked: Asked) -> Mapping[str, object]:
        wording = self.wording(asked.language)
        other = _OTHER_LANGUAGE[asked.language]
        return {
            "say": wording.say,
            "language": _LANGUAGE_TAGS[asked.language],
            "other_language": _LANGUAGE_TAGS[other],
            "language_link": asked.link(lang=other.value),
            "theme": asked.theme.value,
            "themes": [
                (theme.value, asked.link(theme=theme.value), theme is asked.theme)
                for theme in Theme
            ],
            "version": self.files.version,
        }


def _inside(snapshot: Snapshot) -> Mapping[str, object]:
    return {
        "title": snapshot.title,
        "news": snapshot.news,
        "navigation": snapshot.navigation,
        "content": snapshot.content,
    }
