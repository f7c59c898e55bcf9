"""The global image: what the configuration names, and what the store holds to.

A change of introduction or revision is taken over at the start; another digest is only taken while
no sandbox exists, because old and new images must never stand side by side.
"""

import logging

from perlica.domain.sandbox import SandboxImage
from perlica.stores.database import Database
from perlica.stores.sandboxes import SandboxStore

_log = logging.getLogger(__name__)


def adopt_image(database: Database, configured: SandboxImage) -> SandboxImage:
    """Store the configured image where that destroys nothing; the image that is in force."""
    store = SandboxStore(database)
    current = store.image()
    if current == configured:
        return configured
    if current is not None and current.digest != configured.digest and store.list_living():
        _log.warning(
            "the configured image differs and sandboxes exist: the old one stays in force",
            extra={"configured": configured.digest, "in_force": current.digest},
        )
        return current
    with database.transaction():
        store.set_image(configured)
    return configured
