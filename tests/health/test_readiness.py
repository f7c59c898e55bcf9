"""`/healthz` and `/readyz`: the facts of NapCat, of the database and of the actors decide."""

from tests.health.conftest import Site


def test_a_service_with_all_its_parts_is_alive_and_ready(site: Site) -> None:
    assert site.get("/healthz").text == "ok\n"
    answer = site.get("/readyz")

    assert answer.status_code == 200
    assert answer.json() == {
        "ready": True,
        "napcat": "ready",
        "database": "ready",
        "dead_actors": [],
    }


def test_without_napcat_it_is_alive_but_not_ready(site: Site) -> None:
    site.process.fault = "auth_failed"

    assert site.get("/healthz").status_code == 200
    answer = site.get("/readyz")

    assert answer.status_code == 503
    assert answer.json()["napcat"] == "auth_failed"


def test_it_is_ready_again_as_soon_as_napcat_is(site: Site) -> None:
    site.process.fault = "not_connected"
    assert site.get("/readyz").status_code == 503
    site.process.fault = ""

    assert site.get("/readyz").status_code == 200


def test_a_dead_actor_calls_for_a_restart(site: Site) -> None:
    site.process.actors["outbox"] = False

    answer = site.get("/healthz")

    assert answer.status_code == 503
    assert answer.text == "dead: outbox\n"
    assert site.get("/readyz").json()["dead_actors"] == ["outbox"]


def test_a_database_that_is_gone_makes_it_unready_and_no_more(site: Site) -> None:
    aside = site.path.with_name("aside")
    site.path.rename(aside)
    gone = site.get("/readyz")
    alive = site.get("/healthz")
    aside.rename(site.path)

    assert (gone.status_code, gone.json()["database"]) == (503, "no_database")
    assert alive.status_code == 200
    assert site.get("/readyz").status_code == 200


def test_a_database_that_is_no_database_makes_it_unready(site: Site) -> None:
    aside = site.path.with_name("aside")
    site.path.rename(aside)
    site.path.write_bytes(b"not a database, and longer than a hundred bytes" * 100)
    answer = site.get("/readyz")
    aside.rename(site.path)

    assert answer.status_code == 503
    assert answer.json()["database"] not in {"ready", ""}


def test_a_reason_that_is_no_word_of_ours_is_not_repeated(site: Site) -> None:
    site.process.fault = "member 30001 said: <script>"

    assert site.get("/readyz").json()["napcat"] == "other"
    assert site.samples()['perlica_connection_fault{reason="other"}'] == 1
