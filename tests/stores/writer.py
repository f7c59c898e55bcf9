"""A program that writes until it is killed: `python -m tests.stores.writer PATH WHAT`.

It says on its output what it has committed, so that a test knows what must be there afterwards.
"""

import sys
from itertools import count
from pathlib import Path

from perlica.domain.ids import MessageId
from perlica.stores.database import Database
from perlica.stores.messages import MessageKey, MessageStore
from tests.stores.rows import GROUP

SET_FACT = "INSERT INTO service_state (key, value) VALUES (:key, :value)"
SPILLING = "x" * 1_000_000


def _say(word: object) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


def write_pairs(db: Database) -> None:
    """Commit pair after pair for ever and say each."""
    for number in count():
        with db.transaction():
            for half in ("a", "b"):
                db.change(SET_FACT, {"key": f"{number}-{half}", "value": "x" * 2_000})
        _say(number)


def stop_half_way(db: Database) -> None:
    """Commit one pair, then write far more than memory keeps and wait inside the transaction."""
    with db.transaction():
        db.change(SET_FACT, {"key": "committed", "value": "1"})
    with db.transaction():
        for number in range(20):
            db.change(SET_FACT, {"key": f"open-{number}", "value": SPILLING})
        _say("half")
        sys.stdin.read()


def mark_and_wait(db: Database) -> None:
    """Mark two messages as in hand, clear one of them, and wait with the other."""
    store = MessageStore(db)
    done, held = (
        MessageKey(group_id=GROUP, message_id=MessageId(number), real_seq=number)
        for number in (1, 2)
    )
    with db.transaction():
        store.mark_in_hand((done, held))
    with db.transaction():
        store.clear_in_hand((done,))
    _say("marked")
    sys.stdin.read()


WORK = {"pairs": write_pairs, "half": stop_half_way, "marks": mark_and_wait}


if __name__ == "__main__":
    with Database.open(Path(sys.argv[1]), relaxed=sys.argv[2] == "marks") as database:
        WORK[sys.argv[2]](database)
