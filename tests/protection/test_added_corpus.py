"""The floors on the kinds that were added to the shared corpus, scored strictly."""

from typing import Any

import pytest

from tests.protection import added_corpus, corpus

_SEED = 20261201


@pytest.fixture(scope="module")
def score() -> dict[str, Any]:
    samples = list(added_corpus.split().generate(_SEED, 3000, 1000))
    scored: dict[str, Any] = corpus.load("corpusgen.score").score(
        samples, corpus.findings(samples), strict=True
    )
    return scored


@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    ("figure", "floor"), [("redact_recall", 0.998), ("precision", 0.999), ("context_kept", 0.998)]
)
def test_the_floor_of_a_figure_holds(score: dict[str, Any], figure: str, floor: float) -> None:
    assert score[figure] >= floor


def test_no_ordinary_text_of_these_kinds_is_touched(score: dict[str, Any]) -> None:
    assert score["fp_rate"] == 0


def test_no_context_and_no_evasion_falls_behind(score: dict[str, Any]) -> None:
    behind = {
        name: group["redacted"]
        for name, group in score["groups"].items()
        if name.startswith(("context:", "evasion:")) and group["redacted"] < 0.95
    }

    assert behind == {}
