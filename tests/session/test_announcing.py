"""When the group is told of Medium actions that ran by themselves."""

from pathlib import Path

import time_machine

from perlica.domain.plan import Level
from perlica.domain.texts import Language
from perlica.gateway.known_actions import CATALOG
from perlica.stores.database import Database
from perlica.stores.tasks import Task
from perlica.tasks.announcing import APART_MS, announce_medium
from tests.stores.rows import begin_task, new_operation, queue, start

BEGAN_S = 1_800_000_000


def act(db: Database, task: Task) -> None:
    """A Medium action that began."""
    start(db, queue(db, new_operation(level=Level.medium, task=task.id)).id)


def announce(db: Database, task: Task, *, may_wait: bool = True) -> bool:
    with db.transaction():
        return announce_medium(db, task, Language.zh, CATALOG, may_wait=may_wait)


def test_what_follows_soon_after_an_announcement_waits_for_the_next_one(path: Path) -> None:
    with Database.open(path) as db, time_machine.travel(BEGAN_S, tick=False) as clock:
        task = begin_task(db)
        act(db, task)
        assert announce(db, task)
        act(db, task)

        clock.shift(APART_MS / 1000 - 1)
        assert not announce(db, task)
        clock.shift(2)
        assert announce(db, task)
        assert not announce(db, task)


def test_a_question_to_the_group_waits_for_no_announcement(path: Path) -> None:
    with Database.open(path) as db, time_machine.travel(BEGAN_S, tick=False):
        task = begin_task(db)
        act(db, task)
        assert announce(db, task)
        act(db, task)

        assert announce(db, task, may_wait=False)
