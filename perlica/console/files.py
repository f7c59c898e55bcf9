"""The few files that pages need beside themselves, read once and served from memory."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent / "static"
_KINDS: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticFile:
    """A file as it is sent."""

    kind: str
    content: bytes = field(repr=False)


class StaticFiles:
    """All files by name; `version` changes with any of them, so that browsers keep no old one."""

    def __init__(self) -> None:
        """Read the folder."""
        self._files = {
            path.name: StaticFile(kind=_KINDS[path.suffix], content=path.read_bytes())
            for path in sorted(FOLDER.iterdir())
            if path.suffix in _KINDS
        }
        whole = b"".join(file.content for file in self._files.values())
        self.version = hashlib.sha256(whole).hexdigest()[:12]

    def find(self, name: str) -> StaticFile | None:
        """A file by its name."""
        return self._files.get(name)
