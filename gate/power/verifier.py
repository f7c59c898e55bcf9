"""The verifier: what was acknowledged is there, what was removed stays gone, nothing is foreign.

It keeps the account of one disk over any number of cuts. A step that was begun and not acknowledged
may have happened or not; after each look the account takes over what is on the disk.
"""

import hashlib
import stat
from pathlib import Path

from gate.power.workload import Step, content_of, record_of, unsynced_content

_LOWER = b"lower\n"
_COPIED_UP = hashlib.sha256(b"copied up").digest() * 1024


class Account:
    """What must be on one disk. `acknowledged` counts over all cuts."""

    def __init__(self) -> None:
        self.acknowledged = 0
        self.next_number = 0
        self.spent: dict[str, int] = {}
        """How many items of each kind are used up, by what was only begun, too."""
        self._begun: dict[int, Step] = {}
        self._done: dict[str, dict[int, None]] = {}
        self._log = _LOWER
        self._linked = _LOWER
        self._rest = b""

    def hear(self, told: bytes) -> None:
        """Takes in what the writer told; a line that is not whole yet is kept."""
        *lines, self._rest = (self._rest + told).split(b"\n")
        for line in lines:
            words = line.decode("ascii").split()
            number = int(words[1])
            if words[0] == "b":
                step = Step(number=number, kind=words[2], item=int(words[3]))
                self._begun[number] = step
                self.spent[step.kind] = max(self.spent.get(step.kind, 0), step.item + 1)
                self.next_number = number + 1
            else:
                self._settle(self._begun.pop(number))
                self.acknowledged += 1

    def hear_late(self, told: bytes) -> None:
        """Takes in what was told after the cut: steps that began, but no acknowledgement.

        While a file system is being shut down, fsync of a directory can find nothing left to do
        and return success. After a real power loss nobody is there to be told so.
        """
        begun = (self._rest + told).splitlines(keepends=True)
        self._rest = b""
        self.hear(b"".join(line for line in begun if line.startswith(b"b ")))

    def end_of_writer(self) -> None:
        """Forgets half a line: the writer is gone."""
        self._rest = b""

    def _settle(self, step: Step) -> None:
        if step.kind == "append":
            self._log += record_of(step.number)
        elif step.kind == "link":
            self._linked += record_of(step.number)
        else:
            self._done.setdefault(step.kind, {})[step.item] = None

    def _items(self, kind: str) -> set[int]:
        return set(self._done.get(kind, {}))

    def _pending(self, kind: str) -> list[Step]:
        return [step for step in self._begun.values() if step.kind == kind]

    def _pending_items(self, kind: str) -> set[int]:
        return {step.item for step in self._pending(kind)}

    def verify(self, root: Path) -> list[str]:
        """What is wrong, as sentences. Afterwards nothing is pending any more."""
        place = root / "srv/power"
        wrong = [
            *self._verify_created(place / "a"),
            *self._verify_unsynced(place / "c"),
            *self._verify_whiteouts(place / "d"),
            *self._verify_renames(place / "e"),
            *self._verify_modes(place / "g"),
            *self._verify_replaced(place / "h"),
        ]
        self._log, found = _verify_appended(place / "b/log", self._log, self._pending("append"))
        wrong += found
        first, second = place / "f/one", place / "f/two"
        if first.stat().st_ino != second.stat().st_ino:
            wrong.append("two names of one file became two files")
        if first.read_bytes() != second.read_bytes():
            wrong.append("two names of one file have different content")
        self._linked, found = _verify_appended(first, self._linked, self._pending("link"))
        self._begun.clear()
        return wrong + found

    def _verify_created(self, place: Path) -> list[str]:
        created, removed = self._items("create"), self._items("remove")
        may_be_gone = removed | self._pending_items("remove")
        present = {int(p.name): p for p in place.iterdir() if p.suffix != ".new"}
        wrong = [
            f"the created file {item} is gone"
            for item in created - may_be_gone
            if item not in present
        ]
        for item, path in present.items():
            if item in removed:
                wrong.append(f"the removed file {item} is back")
            elif path.read_bytes() != content_of(item):
                wrong.append(f"the created file {item} has other content")
        for path in place.glob("*.new"):
            path.unlink()
        self._done["create"] = dict.fromkeys(present)
        self._done["remove"] = {}
        return wrong

    @staticmethod
    def _verify_unsynced(place: Path) -> list[str]:
        wrong = []
        for path in place.iterdir():
            raw, whole = path.read_bytes(), unsynced_content(int(path.name))
            pages = range(0, len(raw), 4096)
            if not all(
                raw[p : p + 4096]
                in {whole[p : p + 4096][: len(raw) - p], bytes(len(raw[p : p + 4096]))}
                for p in pages
            ):
                wrong.append(f"the unsynced file {path.name} has foreign bytes")
            path.unlink()
        return wrong

    def _verify_whiteouts(self, place: Path) -> list[str]:
        present = {int(path.name) for path in place.iterdir()}
        self._adopt("whiteout", {i for i in self._pending_items("whiteout") if i not in present})
        return [f"the deleted image file {i} is back" for i in self._items("whiteout") & present]

    def _verify_renames(self, place: Path) -> list[str]:
        wrong = []
        for item in self._items("rename") | self._pending_items("rename"):
            moved, old = place / f"{item}-moved", place / str(item)
            if moved.exists() == old.exists():
                wrong.append(f"the renamed directory {item} is there twice or not at all")
            elif item in self._items("rename") and not moved.exists():
                wrong.append(f"the renamed directory {item} has its old name")
            elif _content(moved / "inside", old / "inside") != _LOWER:
                wrong.append(f"the renamed directory {item} lost its content")
        pending = self._pending_items("rename")
        self._adopt("rename", {i for i in pending if (place / f"{i}-moved").exists()})
        return wrong

    def _verify_modes(self, place: Path) -> list[str]:
        wrong = []
        for item in self._items("chmod") | self._pending_items("chmod"):
            file = place / str(item)
            mode = stat.S_IMODE(file.stat().st_mode)
            if item in self._items("chmod") and mode != 0o600:
                wrong.append(f"the copied-up file {item} has its old mode")
            if file.read_bytes() != _COPIED_UP:
                wrong.append(f"the copied-up file {item} has other content")
            if mode == 0o600:
                self._adopt("chmod", {item})
        return wrong

    def _verify_replaced(self, place: Path) -> list[str]:
        wrong = []
        for item in self._items("replace"):
            if not (place / str(item)).is_dir():
                wrong.append(f"the directory {item} made anew is gone")
            elif list((place / str(item)).iterdir()):
                wrong.append(f"the directory {item} made anew shows what the image had in it")
        return wrong

    def _adopt(self, kind: str, items: set[int]) -> None:
        for item in items:
            self._done.setdefault(kind, {})[item] = None


def _content(*candidates: Path) -> bytes:
    return next((path.read_bytes() for path in candidates if path.exists()), b"")


def _verify_appended(path: Path, known: bytes, pending: list[Step]) -> tuple[bytes, list[str]]:
    """What the file holds now, and what is wrong with it."""
    raw = path.read_bytes()
    more = b"".join(record_of(step.number) for step in pending)
    rest = raw[len(known) :]
    if not raw.startswith(known):
        return raw, [f"{path.parent.name}/{path.name} lost an acknowledged record"]
    if not more.startswith(rest) and rest.strip(b"\0"):
        return raw, [f"{path.parent.name}/{path.name} has foreign bytes at its end"]
    return raw, []
