"""`python -m benchmarks._console_service CONFIG`: the service with its console in one process.

What `perlica run` does with console.listen set; SIGTERM ends it.
"""

import sys
from pathlib import Path

from perlica.app.config import load_config
from perlica.app.console import console_settings
from perlica.app.layout import database_path
from perlica.app.run import run_service
from perlica.console import start_console


def main() -> int:
    """Run until told to stop."""
    config = load_config(Path(sys.argv[1]))
    settings = console_settings(config, None)
    if settings is None:
        raise SystemExit("the configuration has no console")
    # The service must not start a second one, if it starts one by itself.
    without = config.model_copy(update={"console": type(config.console)()})
    console = start_console(settings, database_path(config.service.state_dir))
    try:
        return run_service(without)
    finally:
        console.stop()


if __name__ == "__main__":
    sys.exit(main())
