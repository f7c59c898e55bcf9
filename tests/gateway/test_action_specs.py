"""The words of actions: as many as the policy has, every field named, nothing said twice."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from perlica.domain.actions import SCOPES, ActionCatalog, ActionSpec, Scope
from perlica.domain.errors import Misconfigured
from perlica.domain.texts import Language, Text
from perlica.gateway.core.policy_file import check_actions, read_policy, unnamed_actions
from perlica.gateway.known_actions import CATALOG

EXEC = '"sandbox.exec" = ["sandbox"]'
LABEL = Text(zh="做", en="do")
PACKAGED = Path(__file__).parents[2] / "perlica" / "gateway" / "policy.toml"


def spec(name: str = "a.b", **more: object) -> ActionSpec:
    given = {"scopes": frozenset({Scope.service}), "label": LABEL} | more
    return ActionSpec(name=name, **given)  # type: ignore[arg-type]


def pairs(catalog: ActionCatalog) -> Iterator[tuple[str, str]]:
    for each in catalog:
        for scope in each.scopes:
            yield each.name, scope.value


def test_the_catalog_and_the_packaged_policy_name_the_same_pairs() -> None:
    assert set(pairs(CATALOG)) == set(read_policy(None).levels)


def own_policy(tmp_path: Path, before: str, after: str) -> Path:
    text = PACKAGED.read_text(encoding="utf-8")
    assert before in text
    file = tmp_path / "policy.toml"
    file.write_text(text.replace(before, after), encoding="utf-8")
    file.chmod(0o600)
    return file


@pytest.mark.parametrize(
    ("before", "after", "complaint"),
    [
        (EXEC, '"sandbox.exec" = ["sandbx"]', "sandbx"),
        (
            '"sandbox.exec" = ["sandbox"]',
            '"sandbox.exec" = ["group"]',
            "sandbox.exec in scope group",
        ),
        (EXEC, '"sandbox.exce" = ["sandbox"]', "sandbox.exec"),
    ],
    ids=["a misspelt scope", "a scope that it never has", "a misspelt action"],
)
def test_a_policy_that_names_what_does_not_exist_is_refused_and_says_what_was_meant(
    tmp_path: Path, before: str, after: str, complaint: str
) -> None:
    policy = read_policy(own_policy(tmp_path, before, after))

    with pytest.raises(Misconfigured) as refused:
        check_actions(policy, CATALOG)

    assert complaint in f"{refused.value.text} {refused.value.remedy}"


def test_what_a_policy_leaves_out_is_told_it_is_blocked(tmp_path: Path) -> None:
    policy = read_policy(own_policy(tmp_path, '"history.search" = ["group"]\n', ""))

    check_actions(policy, CATALOG)

    assert unnamed_actions(policy, CATALOG) == ("history.search (group)",)
    assert unnamed_actions(read_policy(None), CATALOG) == ()


@pytest.mark.parametrize("language", Language)
def test_every_scope_and_every_action_has_words(language: Language) -> None:
    assert set(SCOPES) == set(Scope)
    said = [words.say(language) for words in SCOPES.values()]
    said += [each.label.say(language) for each in CATALOG]

    assert all(word.strip() for word in said)
    labels = [each.label.say(language) for each in CATALOG]
    assert len(set(labels)) == len(labels)


def test_every_headline_names_the_same_fields_in_both_languages_and_fields_of_its_plan() -> None:
    losses = {"nothing_lost", "files_lost", "destroyed", "lost"}
    for each in CATALOG:
        if each.headline is not None:
            named = each.headline.fields(Language.zh)
            assert named == each.headline.fields(Language.en)
            assert named - losses <= set(each.targets) | set(each.effects)


def test_two_actions_of_one_name_are_refused() -> None:
    with pytest.raises(Misconfigured, match=r"a\.b"):
        ActionCatalog([spec(), spec()])


def test_a_field_with_two_names_and_a_name_for_two_fields_are_refused() -> None:
    other = Text(zh="别的", en="other")
    with pytest.raises(Misconfigured, match="key"):
        ActionCatalog([spec(targets={"key": LABEL}), spec("c.d", targets={"key": other})])
    with pytest.raises(Misconfigured, match=r"do|做"):
        ActionCatalog([spec(effects={"one": LABEL, "two": LABEL})])


def test_a_second_family_cannot_change_what_an_owner_reads_for_a_word() -> None:
    other = Text(zh="保留", en="kept")
    for mine, theirs in (
        ({"words": {"files": {"destroyed": LABEL}}}, {"words": {"files": {"destroyed": other}}}),
        ({"expected": {"done": LABEL}}, {"expected": {"done": other}}),
    ):
        with pytest.raises(Misconfigured, match="named otherwise elsewhere"):
            ActionCatalog([spec(**mine), spec("c.d", **theirs)])
        ActionCatalog([spec(**mine), spec("c.d", **mine)])


def test_an_action_that_nobody_knows_is_shown_by_its_own_name_with_every_sign() -> None:
    assert CATALOG.label("new\u202eaction", Language.en) == "new\\u{202e}action"
    assert CATALOG.find("new.action") is None


def test_a_catalog_with_more_knows_both_and_leaves_the_first_as_it_was() -> None:
    more = CATALOG.and_more([spec("new.action")])

    assert more.label("new.action", Language.en) == "do"
    assert more.label("sandbox.exec", Language.en) == CATALOG.label("sandbox.exec", Language.en)
    assert CATALOG.find("new.action") is None
