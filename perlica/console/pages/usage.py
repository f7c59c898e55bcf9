"""Usage over the last days as bars: tasks, calls, tokens, and what protection replaced."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time, timedelta
from typing import Final

from perlica.console.charts import Chart, draw_chart
from perlica.console.pages.context import Page, PageContext
from perlica.console.pages.pieces import Choice, choices
from perlica.console.wording import Wording
from perlica.stores.views.usage import Redaction, Used, count_used, list_redactions

_SPANS: Final = (14, 7, 30)
_USAGE_AGE_S: Final = 30.0
_MAX_KINDS: Final = 5

Counts = Mapping[str, Counter[date]]
"""For each series, how much on which day."""


def show_usage(context: PageContext) -> Page:
    """/usage: bars for each day in the service's zone."""
    wording = context.wording
    asked = context.asked.number("days")
    span = asked if asked in _SPANS else _SPANS[0]
    days = _days(wording, span)
    edges_ms = tuple(_begin_ms(day, wording) for day in (*days, days[-1] + timedelta(days=1)))
    used = count_used(context.database, edges_ms)
    redactions = list_redactions(context.database, edges_ms[0])
    words = {str(days): wording.say("usage.days", days=days) for days in _SPANS}
    return Page(
        title=wording.say("nav.usage"),
        template="usage",
        fields={
            "charts": (
                *_use_charts(used, days, wording),
                _redaction_chart(redactions, days, edges_ms, wording=wording),
            ),
            "choices": _choices(context, words, span),
        },
        age_s=_USAGE_AGE_S,
    )


def _choices(context: PageContext, words: Mapping[str, str], span: int) -> tuple[Choice, ...]:
    return choices(context.asked, "days", words, str(span))


def _days(wording: Wording, span: int) -> tuple[date, ...]:
    today = _day_of(wording.now_ms, wording)
    return tuple(today - timedelta(days=back) for back in range(span - 1, -1, -1))


def _day_of(at_ms: int, wording: Wording) -> date:
    return datetime.fromtimestamp(at_ms / 1000, wording.zone).date()


def _begin_ms(day: date, wording: Wording) -> int:
    """When a day begins in the service's zone; days of a change of clocks are longer or shorter."""
    return int(datetime.combine(day, time(), wording.zone).timestamp() * 1000)


def _use_charts(
    used: Iterable[Used], days: tuple[date, ...], wording: Wording
) -> tuple[Chart, ...]:
    rows = [(days[row.span], row) for row in used]

    def counted(amount: Callable[[Used], int]) -> Counter[date]:
        counts: Counter[date] = Counter()
        for day, row in rows:
            counts[day] += amount(row)
        return counts

    def tasks_in(*states: str) -> Counter[date]:
        return counted(lambda row: row.tasks if row.state in states else 0)

    ended = ("completed", "failed", "cancelled")
    tasks = {wording.say(f"filter.{state}"): tasks_in(state) for state in ended}
    tasks[wording.say("usage.open")] = counted(lambda r: r.tasks if r.state not in ended else 0)
    calls = {
        wording.say("usage.model_calls"): counted(lambda row: row.model_calls),
        wording.say("usage.tool_calls"): counted(lambda row: row.tool_calls),
    }
    tokens = {
        wording.say("usage.input_tokens"): counted(lambda row: row.input_tokens),
        wording.say("usage.output_tokens"): counted(lambda row: row.output_tokens),
    }
    return (
        _chart("usage.tasks", tasks, days, wording),
        _chart("usage.calls", calls, days, wording),
        _chart("usage.tokens", tokens, days, wording),
    )


def _redaction_chart(
    redactions: tuple[Redaction, ...],
    days: tuple[date, ...],
    edges_ms: tuple[int, ...],
    *,
    wording: Wording,
) -> Chart:
    """One series for each of the commonest kinds, the rest together."""
    common = [kind for kind, _ in Counter(r.kind for r in redactions).most_common(_MAX_KINDS)]
    other = wording.say("usage.other")
    counts: dict[str, Counter[date]] = {kind: Counter() for kind in common}
    for redaction in redactions:
        series = redaction.kind if redaction.kind in common else other
        span = min(bisect_right(edges_ms, redaction.at_ms) - 1, len(days) - 1)
        counts.setdefault(series, Counter())[days[span]] += 1
    about = wording.say("usage.redactions.about")
    return _chart("usage.redactions", counts, days, wording, about=about)


def _chart(
    name: str, counts: Counts, days: tuple[date, ...], wording: Wording, *, about: str = ""
) -> Chart:
    return draw_chart(
        key=name.rpartition(".")[2],
        title=wording.say(name),
        about=about,
        days=tuple(f"{day:%m-%d}" for day in days),
        series={series: tuple(counter[day] for day in days) for series, counter in counts.items()},
        wording=wording,
    )
