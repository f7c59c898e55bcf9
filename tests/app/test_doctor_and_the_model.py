"""`perlica doctor --online` says why the model does not answer, in the operator's language."""

import re
from pathlib import Path

import pytest

from perlica.app.config.sections.core import ModelSection
from perlica.app.doctor.examination import examine
from perlica.app.doctor.findings import Level
from perlica.demo.model import HttpError, ScriptedModel
from perlica.domain.texts import Language
from perlica.domain.texts.models import REASON_OF, TROUBLES
from tests.app.configs import write_config

PROVIDER = "org-7f3a says no"


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (401, "model_key_rejected"),
        (402, "model_balance"),
        (403, "model_forbidden"),
        (404, "model_not_found"),
        (413, "model_request_too_large"),
        (429, "model_rate_limited"),
        (500, "model_server_error"),
        (502, "model_server_error"),
        (503, "model_overloaded"),
        (529, "model_overloaded"),
    ],
)
def test_a_model_that_does_not_answer_is_told_by_its_reason_and_remedy(
    tmp_path: Path, status: int, code: str
) -> None:
    with ScriptedModel([HttpError(status=status, message=PROVIDER)]) as model:
        port = int(model.base_url.rpartition(":")[2].partition("/")[0])
        report = examine(write_config(tmp_path, model_port=port), online=True)

    (bad,) = [f for f in report.findings if f.subject == "model" and f.level is Level.error]
    trouble = TROUBLES[REASON_OF[code]]
    assert bad.code == code
    for language in Language:
        told = bad.as_json(language)
        assert trouble.what.say(language) in told["text"]
        assert f"HTTP {status}" in told["text"]
        assert told["remedy"] == trouble.remedy.say(language)
        assert PROVIDER not in str(told)
    assert "the " not in bad.as_json(Language.zh)["text"]


def test_every_setting_that_a_remedy_names_exists() -> None:
    texts = [text for one in TROUBLES.values() for text in (one.remedy.zh, one.remedy.en)]
    named = {name for text in texts for name in re.findall(r"model\.([a-z_]+)", text)}

    assert named <= set(ModelSection.model_fields)
    assert named


def test_a_model_that_is_not_there_is_told_by_its_reason(tmp_path: Path) -> None:
    report = examine(write_config(tmp_path, model_port=1), online=True)

    (bad,) = [f for f in report.findings if f.subject == "model" and f.level is Level.error]
    assert bad.code == "model_connection_refused"
