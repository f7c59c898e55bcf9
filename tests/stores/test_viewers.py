"""Who may look at the console: names, tokens that end, and what a revocation does."""

from itertools import count

import pytest
import time_machine

from perlica.domain.errors import Refused, StaleState
from perlica.stores.database import Database
from perlica.stores.literal import MAX_QUERY_PAIRS, fold, match_query, tokens_of
from perlica.stores.service import ServiceStore
from perlica.stores.viewers import Viewer, ViewerStore, digest_token

NOON = 1_800_000_000


def add(db: Database, name: str, lifetime_ms: int = 1_000) -> Viewer:
    with db.transaction():
        return ViewerStore(db).add(
            name, token_digest=digest_token(str(next(DIGESTS))), lifetime_ms=lifetime_ms
        )


def revoke(db: Database, name: str) -> Viewer:
    with db.transaction():
        return ViewerStore(db).revoke(name)


DIGESTS = count()


@pytest.mark.parametrize("name", ["a", "ab", "张三", "a b", "x" * 40, "a.b@c-d"])
def test_a_name_is_taken_as_it_is(db: Database, name: str) -> None:
    viewer = add(db, name)

    assert viewer.name == name
    assert viewer.revoked_at_ms is None
    assert viewer.expires_at_ms - viewer.created_at_ms == 1_000


@pytest.mark.parametrize("name", ["", " a", "a ", "-", "x" * 41, "a\n", "a/b"])
def test_what_is_no_name_is_refused(db: Database, name: str) -> None:
    with pytest.raises(Refused) as refused:
        add(db, name)

    assert refused.value.code == "viewer_name"


def test_a_living_name_is_taken_and_one_that_ended_is_free(db: Database) -> None:
    with time_machine.travel(NOON, tick=False) as clock:
        add(db, "ann")
        with pytest.raises(Refused) as refused:
            add(db, "ann")
        clock.shift(1)
        second = add(db, "ann")

    assert refused.value.code == "viewer_exists"
    assert second.expires_at_ms == NOON * 1_000 + 2_000
    assert [viewer.revoked_at_ms is None for viewer in ViewerStore(db).list_all()] == [False, True]


def test_a_name_of_an_older_epoch_is_free(db: Database) -> None:
    first = add(db, "ann", 60_000)
    with db.transaction():
        ServiceStore(db).raise_epoch(1)

    second = add(db, "ann", 60_000)

    assert second.epoch == first.epoch + 1


def test_a_revoked_viewer_is_revoked_once(db: Database) -> None:
    add(db, "ann", 60_000)

    assert revoke(db, "ann").revoked_at_ms is not None
    with pytest.raises(StaleState):
        revoke(db, "ann")
    assert add(db, "ann", 60_000).revoked_at_ms is None


def test_only_a_digest_of_a_token_is_kept() -> None:
    assert digest_token("t") != digest_token("u")
    assert len(digest_token("t")) == 64
    assert digest_token("\ud800") == digest_token("?")


def test_a_text_is_looked_up_by_its_signs_and_pairs_without_case() -> None:
    assert fold("ÀB") == fold("a\u0300b")
    assert tokens_of("aba") == {"a", "b", "ab", "ba"}
    assert tokens_of("") == set()


def test_a_query_holds_pairs_in_hexadecimal_and_of_a_long_text_some() -> None:
    assert match_query("") is None
    assert match_query("\ud800") is None
    assert match_query("a") == '"61"'
    assert match_query("abab") == '"6162" AND "6261"'
    for size in (MAX_QUERY_PAIRS, MAX_QUERY_PAIRS + 1, MAX_QUERY_PAIRS + 2, 500):
        query = match_query("".join(chr(0x4E00 + n) for n in range(size)))
        pairs = size - 1
        step = -(-pairs // MAX_QUERY_PAIRS)
        assert query is not None
        assert query.count("AND") + 1 == -(-pairs // step) <= MAX_QUERY_PAIRS == 24
