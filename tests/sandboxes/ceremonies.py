"""The way of plans and orders as the service makes it, with the packaged policy."""

from collections.abc import Collection

from perlica.domain.ids import UserId
from perlica.domain.texts import Language
from perlica.gateway.core.ceremony import Ceremony
from perlica.gateway.core.orders import Orders
from perlica.gateway.core.policy_file import read_policy
from perlica.gateway.core.registry import Registry
from perlica.gateway.core.tickets import TicketIssuer
from perlica.gateway.core.work import Executors
from perlica.gateway.known_actions import CATALOG
from perlica.stores.database import Database


def make_ceremony(database: Database, executors: Executors, owners: Collection[UserId]) -> Ceremony:
    """Over a connection; nobody is rung."""
    issuer = TicketIssuer(
        database=database, owners=frozenset(owners), language=Language.zh, actions=CATALOG
    )
    return Ceremony(
        database=database,
        policy=read_policy(None),
        issuer=issuer,
        executors=executors,
        ring_outbox=lambda: None,
    )


def make_orders(
    registry: Registry, owners: Collection[UserId], database: Database, executors: Executors
) -> Orders:
    """The orders of the registry's families."""
    ceremony = make_ceremony(database, executors, owners)
    return Orders(
        database=database,
        ceremony=ceremony,
        specs=registry.orders(),
        policy_version=ceremony.policy.version,
        language=Language.zh,
    )
