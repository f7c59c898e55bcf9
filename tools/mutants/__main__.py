"""`python -m tools.mutants`: how many small changes of the code the tests notice, room by room.

Seeded and resumable: what was noticed stands in build/mutants/trials.jsonl and is not tried again
as long as its file is the same. Changes that mean nothing stand with their reason in
equivalent.toml.
Exit code 0 when every room that was asked for reaches the goal, 1 otherwise, 2 when its tests fail.
"""

import argparse
import hashlib
import json
import random
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Final

from tools.mutants.changes import Change, find_changes
from tools.mutants.rooms import ROOMS, Room
from tools.mutants.trial import Sight, Tree, Trial, Verdict, try_change

ROOT: Final = Path(__file__).parents[2]
GOAL: Final = 0.95
_EQUIVALENT: Final = Path(__file__).with_name("equivalent.toml")


def main() -> int:
    """Try the changes and print what was noticed."""
    arguments = _parser().parse_args()
    folder: Path = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    tree = Tree(ROOT, folder)
    tree.prepare()
    rooms = [room for room in ROOMS if not arguments.rooms or room.name in arguments.rooms]
    worst = 0
    for room in rooms:
        sight = Sight(tree, folder, room)
        fault = sight.measure()
        if fault:
            print(f"{room.name}: its tests do not pass without any change:\n{fault}")
            worst = 2
            continue
        if sight.unfit:
            print(f"{room.name}: {len(sight.unfit)} of its tests fail without any change")
        trials = list(_try_room(tree, sight, room, arguments))
        worst = max(worst, _report(room, trials))
    return worst


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    names = [room.name for room in ROOMS]
    parser.add_argument("--rooms", nargs="*", choices=names, help="only these; all without it")
    parser.add_argument("--sample", type=int, default=40, help="changes in each room; 0: every one")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "mutants")
    return parser


def sample_changes(root: Path, room: Room, count: int, seed: int) -> list[Change]:
    """Changes of a room: a seeded draw of `count`, or all of them for 0; without what is listed."""
    sources = {str(path): (root / path).read_bytes() for path in room.files(root)}
    found = [change for path, source in sources.items() for change in find_changes(path, source)]
    if 0 < count < len(found):
        found = random.Random(f"{room.name}:{seed}").sample(found, count)  # noqa: S311
    listed = tomllib.loads(_EQUIVALENT.read_text(encoding="utf-8")).get("change", [])
    known = [(f"{r['path']}|{r['before']}|{r['after']}|{r['what']}", r["within"]) for r in listed]
    return [change for change in found if not _is_listed(change, sources[change.path], known)]


def _is_listed(change: Change, source: bytes, known: list[tuple[str, str]]) -> bool:
    line = source.decode().splitlines()[change.line - 1]
    return any(key == change.key and within in line for key, within in known)


def _try_room(
    tree: Tree, sight: Sight, room: Room, arguments: argparse.Namespace
) -> Iterator[Trial]:
    log = arguments.folder / "trials.jsonl"
    known = dict(_known(log))
    changes = sample_changes(tree.path, room, arguments.sample, arguments.seed)
    for number, change in enumerate(changes, 1):
        key = _key(tree.path, change)
        if known.get(key) is Verdict.noticed:
            yield Trial(change=change, verdict=known[key], took_s=0.0)
            continue
        trial = try_change(tree, sight, change)
        with log.open("a", encoding="utf-8") as file:
            row = {"key": key, "verdict": trial.verdict, "change": asdict(change)}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
        print(f"  {room.name} {number}/{len(changes)} {trial.verdict:8} {change}", flush=True)
        yield trial


def _known(log: Path) -> Iterator[tuple[str, Verdict]]:
    if log.exists():
        for line in log.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            yield row["key"], Verdict(row["verdict"])


def _key(root: Path, change: Change) -> str:
    content = hashlib.sha256((root / change.path).read_bytes()).hexdigest()[:16]
    return f"{content}:{change.start}:{change.key}"


def _report(room: Room, trials: list[Trial]) -> int:
    """Print the room's line and what nobody noticed; 0 when the goal is reached."""
    noticed = sum(trial.verdict is Verdict.noticed for trial in trials)
    share = noticed / len(trials) if trials else 1.0
    print(f"{room.name:<12} {noticed:>4} of {len(trials):>4} noticed  {share:6.1%}")
    for trial in trials:
        if trial.verdict is not Verdict.noticed:
            print(f"    {trial.verdict:8} {trial.change}")
    return int(share < GOAL)


if __name__ == "__main__":
    sys.exit(main())
