"""What is wrong with the model's service is a metric, one line for each reason."""

from perlica.domain.task import EndReason
from perlica.stores.database import Database
from perlica.stores.model_standing import SERVICE_TROUBLES
from tests.health.conftest import MakeSite
from tests.stores.test_model_standing import fail


def test_the_metric_names_the_trouble_and_no_other(db: Database, make_site: MakeSite) -> None:
    fail(db, EndReason.model_balance)

    samples = make_site().samples()

    for reason in SERVICE_TROUBLES:
        shown = samples[f'perlica_model_trouble{{reason="{reason.value}"}}']
        assert shown == (reason is EndReason.model_balance)
    assert samples['perlica_tasks_ended_total{reason="model_balance",state="failed"}'] == 0
