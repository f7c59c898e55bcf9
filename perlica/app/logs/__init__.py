"""The log: one JSON object on each line, protected as a finished line, traceback included.

Everything that logs in the process, other people's libraries too, ends in the handlers that
`start_logging` puts on the root logger. Plain `logging` instead of structlog: 16 MiB less memory.
"""

from perlica.app.logs.handlers import start_logging
from perlica.app.logs.lines import ID_FIELDS, LineFormatter

__all__ = ["ID_FIELDS", "LineFormatter", "start_logging"]
