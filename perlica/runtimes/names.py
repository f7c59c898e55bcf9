"""The runtimes that there are, by the names that the configuration knows them by.

`perlica.app.runtimes` holds how each of them is built.
"""

from enum import StrEnum


class RuntimeName(StrEnum):
    """`[task] runtime` holds these words."""

    native = "native"
