"""A cancel is set once, wakes whoever waits, and says whether only the waiting ends."""

import threading

import pytest

from perlica.domain.cancel import CancelToken
from perlica.domain.errors import Cancelled


def test_a_fresh_token_stops_nobody() -> None:
    token = CancelToken()

    token.check()

    assert not token.is_set
    assert not token.is_leaving
    assert token.wait(0) is False


def test_a_set_token_stops_whoever_asks() -> None:
    token = CancelToken()
    token.set()

    assert token.is_set
    assert not token.is_leaving
    assert token.wait(0) is True
    with pytest.raises(Cancelled):
        token.check()


def test_leaving_ends_the_waiting_alone() -> None:
    token = CancelToken()
    token.leave()

    assert token.is_set
    assert token.is_leaving


def test_the_first_word_counts() -> None:
    cancelled, left = CancelToken(), CancelToken()
    cancelled.set()
    cancelled.leave()
    left.leave()
    left.set()

    assert not cancelled.is_leaving
    assert left.is_leaving


def test_every_callback_that_waits_runs_once() -> None:
    token, calls, ran = CancelToken(), list[str](), threading.Semaphore(0)

    def note(name: str) -> None:
        calls.append(name)
        ran.release()

    with token.on_cancel(lambda: note("a")), token.on_cancel(lambda: note("b")):
        token.set()
        token.set()
        assert ran.acquire(timeout=10)
        assert ran.acquire(timeout=10)

    assert sorted(calls) == ["a", "b"]


def test_a_callback_that_comes_late_runs_at_once() -> None:
    token, ran = CancelToken(), threading.Event()
    token.set()

    with token.on_cancel(ran.set):
        assert ran.wait(10)


def test_a_callback_whose_block_is_over_does_not_run() -> None:
    token, over, running = CancelToken(), threading.Event(), threading.Event()
    with token.on_cancel(over.set):
        pass
    with token.on_cancel(running.set):
        token.set()
        assert running.wait(10)

    assert not over.is_set()


def test_the_thread_of_a_callback_does_not_hold_the_process() -> None:
    for already in (False, True):
        token, seen, done = CancelToken(), list[bool](), threading.Event()

        def note(seen: list[bool] = seen, done: threading.Event = done) -> None:
            seen.append(threading.current_thread().daemon)
            done.set()

        if already:
            token.set()
        with token.on_cancel(note):
            token.set()
            assert done.wait(10)
        assert seen == [True]
