"""The tools of this service, by name, from the families that are on; fixed after the start."""

from collections.abc import Sequence

from perlica.domain.errors import Misconfigured
from perlica.gateway.core.family import Review, ToolFamily
from perlica.gateway.core.orders import OrderSpec
from perlica.gateway.core.tool import Tool
from perlica.gateway.core.work import Executors
from perlica.stores.database import Database


class Registry:
    """What the families bring, each name once."""

    def __init__(self, families: Sequence[ToolFamily]) -> None:
        """Raises: Misconfigured when two families, tools or orders share a name."""
        self._families = tuple(families)
        _refuse_twice("family", [family.name for family in self._families])
        _refuse_twice("tool", [tool.name for tool in self.all()])
        _refuse_twice("order", [order.action for order in self.orders()])
        self._tools = {tool.name: tool for tool in self.all()}

    def find(self, name: str) -> Tool | None:
        """The tool of that name."""
        return self._tools.get(name)

    def all(self) -> tuple[Tool, ...]:
        """All tools in the order of the families."""
        return tuple(tool for family in self._families for tool in family.tools)

    def guidance(self) -> tuple[str, ...]:
        """What the prompt says of the families."""
        return tuple(rule for family in self._families for rule in family.guidance)

    def orders(self) -> tuple[OrderSpec, ...]:
        """What Owners' commands may have approved."""
        return tuple(order for family in self._families for order in family.orders)

    def reviews(self) -> tuple[Review, ...]:
        """What wants to ask before a task completes."""
        return tuple(family.review for family in self._families if family.review is not None)

    def executors(self, database: Database) -> Executors:
        """Everything that carries out queued work, over this connection.

        Raises: Misconfigured when two have one name.
        """
        made = [f.make_executor(database) for f in self._families if f.make_executor is not None]
        _refuse_twice("executor", [executor.name for executor in made])
        return {executor.name: executor for executor in made}


def _refuse_twice(what: str, names: Sequence[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise Misconfigured(f"{what}_twice", f"two of one name: {what} {', '.join(twice)}")
