"""The global image: what the configuration names, and what the store holds to.

The configuration gives the first image. Later an Owner's commands change it (`.image`), so a
configuration with a lower revision never takes anything back; one with a higher revision is taken
over at the start: an introduction always, another digest only while no sandbox exists and no switch
is under way, because old and new images must never stand side by side.
"""

import logging

from perlica.domain.sandbox import SandboxImage
from perlica.stores.database import Database
from perlica.stores.image_switches import ImageSwitchStore
from perlica.stores.sandboxes import SandboxStore

_log = logging.getLogger(__name__)


def adopt_image(database: Database, configured: SandboxImage) -> SandboxImage:
    """Store the configured image where that destroys nothing; the image that is in force."""
    with database.transaction():
        current = SandboxStore(database).image()
        if current is not None and not _may_follow(database, current, configured):
            return current
        SandboxStore(database).set_image(configured)
    return configured


def _may_follow(database: Database, current: SandboxImage, configured: SandboxImage) -> bool:
    if configured == current:
        return False
    facts = {"configured": configured.digest, "in_force": current.digest}
    if configured.revision <= current.revision:
        _log.info("the stored image is newer than the configured one and stays", extra=facts)
        return False
    if configured.digest == current.digest:
        return True
    is_free = not SandboxStore(database).list_living()
    if is_free and ImageSwitchStore(database).current() is None:
        return True
    _log.warning("the configured image differs and sandboxes exist: the old one stays", extra=facts)
    return False
