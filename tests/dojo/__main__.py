"""`python -m tests.dojo SITE [SUITE…]`: play AgentDojo with and without the gateway.

Prints one JSON object for each suite on a line of its own; `tests.dojo.test_agentdojo` reads them.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.dojo import suites
from tests.dojo.service import Service, play_without_gateway

EVERY = 7
"""How many attacks there are for one that is played against an open policy."""


def play_suite(name: str, suite: Any, directory: Path) -> dict[str, Any]:
    """Figures of one suite: attacks and utility, each without and with the gateway."""
    service = Service(directory, suites.functions_of(suite))
    try:
        text_only, unscripted = suites.list_left_out(suite)
        return {
            "suite": name,
            "text_only": text_only,
            "unscripted": unscripted,
            **_play_plain(name, suite, service),
            **_play_poisoned(name, suite, service),
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


def _play_poisoned(name: str, suite: Any, service: Service) -> dict[str, Any]:
    attacks, free, guarded, solved, broken = 0, 0, 0, 0, []
    for duel in suites.list_duels(name, suite, poisoned=True):
        goal, task = suite.injection_tasks[duel.injection], suite.user_tasks[duel.user]
        attacks += 1
        world = suites.open_world(suite, duel.user, poisoned=True)
        free += world.judge(goal, play_without_gateway(duel, world))
        world = suites.open_world(suite, duel.user, poisoned=True)
        answer = service.play(duel, world)
        has_won = world.judge(goal, answer)
        guarded += has_won
        solved += world.judge(task, answer)
        broken += [f"{duel.user}+{duel.injection}"] if has_won else []
    return {
        "attacks": attacks,
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
    site, *names = sys.argv[1:]
    known = suites.load(Path(site))
    for name in names or known:
        with tempfile.TemporaryDirectory(
            prefix="perlica-dojo-", dir=_fast_directory()
        ) as directory:
            print(json.dumps(play_suite(name, known[name], Path(directory))), flush=True)


if __name__ == "__main__":
    main()
