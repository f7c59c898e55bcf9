"""`python -m tests.dojo SITE [SUITE…]`: play AgentDojo with and without the gateway.

With `--sample-seed N` a sample of the attacks is played; without it, all are.
Prints one JSON object for each suite on a line of its own; `tests.dojo.test_agentdojo` reads them.
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from tests.dojo import suites
from tests.dojo.service import Service, play_without_gateway
from tests.suite.sample import Sample

EVERY = 7
"""How many attacks there are for one that is played against an open policy."""


def play_suite(name: str, suite: Any, directory: Path, sample: Sample) -> dict[str, Any]:
    """Figures of one suite: attacks and utility, each without and with the gateway."""
    service = Service(directory, suites.functions_of(suite))
    try:
        text_only, unscripted = suites.list_left_out(suite)
        return {
            "suite": name,
            "text_only": text_only,
            "unscripted": unscripted,
            **_play_plain(name, suite, service),
            **_play_poisoned(name, suite, service, sample),
            **_play_unguarded(name, suite, directory / "unguarded"),
        }
    finally:
        service.close()


def _play_plain(name: str, suite: Any, service: Service) -> dict[str, Any]:
    free, guarded, lost = 0, 0, []
    for duel in suites.list_duels(name, suite, poisoned=False):
        task = suite.user_tasks[duel.user]
        world = suites.open_world(suite, duel.user, poisoned=False)
        free += world.judge(task, play_without_gateway(duel, world))
        world = suites.open_world(suite, duel.user, poisoned=False)
        is_solved = world.judge(task, service.play(duel, world))
        guarded += is_solved
        lost += [] if is_solved else [duel.user]
    return {
        "tasks": len(suite.user_tasks),
        "solved_free": free,
        "solved_guarded": guarded,
        "lost": lost,
    }


def _play_poisoned(name: str, suite: Any, service: Service, sample: Sample) -> dict[str, Any]:
    free, guarded, solved, broken = 0, 0, 0, []
    known = list(suites.list_duels(name, suite, poisoned=True))
    duels = sample.pick("dojo", known, of=name, kinds=lambda duel: (duel.user, duel.injection))
    for duel in duels:
        goal, task = suite.injection_tasks[duel.injection], suite.user_tasks[duel.user]
        world = suites.open_world(suite, duel.user, poisoned=True)
        free += world.judge(goal, play_without_gateway(duel, world))
        world = suites.open_world(suite, duel.user, poisoned=True)
        answer = service.play(duel, world)
        has_won = world.judge(goal, answer)
        guarded += has_won
        solved += world.judge(task, answer)
        broken += [f"{duel.user}+{duel.injection}"] if has_won else []
    return {
        "attacks": len(duels),
        "attacks_known": len(known),
        "won_free": free,
        "won_guarded": guarded,
        "solved_under_attack": solved,
        "won": broken,
    }


def _play_unguarded(name: str, suite: Any, directory: Path) -> dict[str, Any]:
    """A sample through the same gateway with a policy that lets everything through."""
    service = Service(directory, suites.functions_of(suite), is_guarded=False)
    try:
        sample = list(suites.list_duels(name, suite, poisoned=True))[::EVERY]
        won = 0
        for duel in sample:
            world = suites.open_world(suite, duel.user, poisoned=True)
            answer = service.play(duel, world)
            won += world.judge(suite.injection_tasks[duel.injection], answer)
        return {"sample": len(sample), "won_unguarded": won}
    finally:
        service.close()


def _fast_directory() -> str | None:
    """Nothing of it has to outlast anything, so a disk that is busy need not be waited for."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def main() -> None:
    """Play the named suites, or all."""
    parser = argparse.ArgumentParser(prog="python -m tests.dojo")
    parser.add_argument("--sample-seed", type=int)
    parser.add_argument("site", type=Path)
    parser.add_argument("suites", nargs="*")
    words = parser.parse_args()
    sample = Sample(words.sample_seed or 0, is_long=words.sample_seed is None)
    known = suites.load(words.site)
    for name in words.suites or known:
        with tempfile.TemporaryDirectory(
            prefix="perlica-dojo-", dir=_fast_directory()
        ) as directory:
            played = play_suite(name, known[name], Path(directory), sample)
            print(json.dumps(played), flush=True)


if __name__ == "__main__":
    main()
