"""The floors on the shared corpus, scored strictly: nothing but a provider prefix may stay."""

import json
from typing import Any

import pytest

from perlica.protection import Channel, protect
from tests.protection import corpus

SEED = 20261130
Samples = list[dict[str, Any]]


def generate(positives: int, negatives: int, seed: int = SEED) -> Samples:
    return list(corpus.load("corpusgen.__main__").DEV.generate(seed, positives, negatives))


@pytest.fixture(scope="module")
def samples() -> Samples:
    return generate(2000, 5000)


@pytest.fixture(scope="module")
def score(samples: Samples) -> dict[str, Any]:
    found = corpus.findings(samples)
    scored: dict[str, Any] = corpus.load("corpusgen.score").score(samples, found, strict=True)
    return scored


@pytest.mark.parametrize(
    ("figure", "floor"),
    [("redact_recall", 0.998), ("precision", 0.997), ("context_kept", 0.999)],
)
def test_the_floor_of_a_figure_holds(score: dict[str, Any], figure: str, floor: float) -> None:
    assert score[figure] >= floor


def test_hardly_any_ordinary_text_is_touched(score: dict[str, Any]) -> None:
    assert score["fp_rate"] <= 0.0005


def test_nothing_is_found_in_what_was_redacted(samples: Samples) -> None:
    for sample in samples[:2000]:
        once = protect(sample["text"], Channel.MESSAGE)
        assert once.is_usable, sample["id"]
        assert protect(once.content, Channel.MESSAGE).finding_count == 0, sample["id"]


def test_valid_json_of_the_corpus_stays_valid(samples: Samples) -> None:
    documents = [sample["text"] for sample in samples if _is_json(sample["text"])]

    assert len(documents) > 100
    assert all(_is_json(protect(text, Channel.MESSAGE).content) for text in documents)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return text[:1] in "{["


@pytest.mark.timeout(180)
def test_no_family_and_no_evasion_falls_behind() -> None:
    samples = generate(20_000, 0)
    scored = corpus.load("corpusgen.score").score(samples, corpus.findings(samples), strict=True)

    behind = {
        name: group["redacted"]
        for name, group in scored["groups"].items()
        if name.startswith(("family:", "evasion:")) and group["redacted"] < 0.97
    }

    assert behind == {}
