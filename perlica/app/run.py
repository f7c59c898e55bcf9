"""Running the service: one process, one instance, from configuration to exit code.

Called by `perlica run`; what is started here is stopped here.
"""

import logging
import signal
import threading
from pathlib import Path

from actors.base import Alarm, Wires
from perlica import __version__
from perlica.app import parts
from perlica.app.assembly import Assembly
from perlica.app.capabilities.gate_report import admission, read_report
from perlica.app.capabilities.standing import CapabilityName
from perlica.app.config import Config
from perlica.app.instance import only_instance
from perlica.app.layout import database_path
from perlica.app.logs import start_logging
from perlica.app.outlets import health_facts, outlets
from perlica.app.policy_change import note_rules
from perlica.app.protection_rules import put_in_force
from perlica.app.secrets import read_secrets
from perlica.app.state_directory import make_state_directory
from perlica.app.supervision import EXIT_NOT_STARTED, NotStarted, Supervisor, stopping
from perlica.clients.sandboxd import SandboxdClient
from perlica.gateway.core.policy_file import read_policy
from perlica.health import install_stack_printer
from perlica.sandboxes.image import adopt_image
from perlica.sandboxes.nodes import Nodes
from perlica.stores.database import Database
from perlica.stores.migrations import check_target, migrate
from perlica.stores.service import ServiceStore

_log = logging.getLogger(__name__)


def run_service(config: Config, *, alarm: Alarm | None = None) -> int:
    """Run until SIGTERM or SIGINT (0), or until an actor dies (non-zero).

    Raises: Misconfigured when a core part cannot be used; nothing was started then.
    """
    secrets = read_secrets(config)
    start_logging(config.log, secrets=secrets.values())
    config = parts.compare_nodes(config, may_be_silent=True)
    policy = read_policy(config.policy.file)
    put_in_force(config.protection.rules_file)
    state_dir = config.service.state_dir
    make_state_directory(state_dir)
    alarm = alarm or Alarm()
    with only_instance(state_dir):
        path = database_path(state_dir)
        versions = {
            "version": __version__,
            "schema": str(migrate(path)),
            "config": config.short_digest,
            "policy": policy.version,
        }
        _log.info("starting", extra=versions)
        nodes = _prepare_database(config, path)
        with Database.open(path) as database:
            note_rules(database, config, policy)
        supervisor = Supervisor(alarm=alarm, stop_within_s=config.service.stop_within_s)
        assembly = Assembly(
            config=config,
            secrets=secrets,
            policy=policy,
            nodes=nodes,
            database_path=path,
            alarm=alarm,
            supervisor=supervisor,
            wires=Wires(),
        )
        return _run(assembly, supervisor, versions)


def _run(assembly: Assembly, supervisor: Supervisor, versions: dict[str, str]) -> int:
    stop_asked = _hear_signals()
    with stopping(supervisor):
        try:
            assembly.start()
        except NotStarted as error:
            _log.critical("an actor did not start", exc_info=error, extra={"actor": str(error)})
            return EXIT_NOT_STARTED
        facts = health_facts(assembly.wires, supervisor, assembly.inbound, versions)
        with outlets(
            assembly.config,
            assembly.secrets,
            database_path=assembly.database_path,
            facts=facts,
        ):
            _log.info("started")
            code = supervisor.watch(stop_asked)
    _log.info("stopped", extra={"code": code})
    return code


def _prepare_database(config: Config, path: Path) -> Nodes | None:
    """Bind the database to its group, take the image over; the nodes if sandboxes are on."""
    with Database.open(path) as database:
        check_target(database, config.napcat.group_id, config.napcat.self_id)
        section = config.sandbox
        standing = config.capabilities()[CapabilityName.sandbox]
        if section is None or not standing.on:
            return None
        adopt_image(database, parts.image_of(section), language=config.service.language)
        epoch = ServiceStore(database).epoch()
    reported = section.gate_report
    is_proved = not standing.experimental
    admit = admission(read_report(reported)) if is_proved and reported else None
    settings = parts.node_settings(section, epoch, admit=admit)
    return Nodes({node: SandboxdClient(each) for node, each in settings.items()})


def _hear_signals() -> threading.Event:
    """SIGTERM and SIGINT ask for a stop; SIGUSR1 prints the threads' stacks into the log."""
    asked = threading.Event()

    def ask(_number: int, _frame: object) -> None:
        asked.set()

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, ask)
        signal.signal(signal.SIGINT, ask)
        install_stack_printer()
    return asked
