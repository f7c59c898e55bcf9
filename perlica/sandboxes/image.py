"""The global image: what the configuration names, and what the store holds to.

The configuration gives the first image. Later an Owner's commands change it (`.image`), so a
configuration with a lower revision never takes anything back. One with a higher revision is an
action of an operator: audited and told to the group. An introduction is taken over always, another
digest only under the proof that a switch by command needs: no sandbox exists, no clean-up is open
and no switch is under way, because old and new images must never stand side by side.
"""

import logging

from perlica.domain.outbox import OutboxKind
from perlica.domain.sandbox import SandboxImage
from perlica.domain.texts import Language
from perlica.domain.texts.sandboxes import say_image_configured, say_image_not_configured
from perlica.protection import Channel, protect
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from perlica.stores.image_switches import ImageSwitchStore
from perlica.stores.orphans import OrphanStore
from perlica.stores.outbox import OutboxStore
from perlica.stores.sandboxes import SandboxStore

_log = logging.getLogger(__name__)


def adopt_image(
    database: Database, configured: SandboxImage, *, language: Language = Language.zh
) -> SandboxImage:
    """Store the configured image where that destroys nothing; the image that is in force."""
    with database.transaction():
        current = SandboxStore(database).image()
        if current is None:
            SandboxStore(database).set_image(configured)
            return configured
        if configured == current or not _is_newer(current, configured):
            return current
        if configured.digest != current.digest and not _is_clear(database):
            _refuse(database, current, configured, language)
            return current
        SandboxStore(database).set_image(configured)
        _audit(database, "image.configured", current, configured)
        text = say_image_configured(configured.digest, configured.revision, language)
        _tell(database, f"image-configured:{configured.revision}:{configured.digest}", text)
    return configured


def _is_newer(current: SandboxImage, configured: SandboxImage) -> bool:
    if configured.revision > current.revision:
        return True
    facts = {"configured": configured.digest, "in_force": current.digest}
    _log.info("the stored image is newer than the configured one and stays", extra=facts)
    return False


def _is_clear(database: Database) -> bool:
    """As for a switch by command: nothing of the old image exists or may exist on a living node."""
    orphans = [one for one in OrphanStore(database).list_open() if one.cause != "node_lost"]
    living = SandboxStore(database).list_living()
    return not living and not orphans and ImageSwitchStore(database).current() is None


def _refuse(
    database: Database, current: SandboxImage, configured: SandboxImage, language: Language
) -> None:
    """Said once for each configured image, however often the service starts with it."""
    facts = {"configured": configured.digest, "in_force": current.digest}
    _log.warning("the configured image differs and sandboxes exist: the old one stays", extra=facts)
    text = say_image_not_configured(configured.digest, configured.revision, language)
    if _tell(database, f"image-refused:{configured.revision}:{configured.digest}", text):
        _audit(database, "image.refused", current, configured)


def _audit(database: Database, kind: str, before: SandboxImage, after: SandboxImage) -> None:
    facts: dict[str, str | int] = {
        "before": before.digest,
        "before_revision": before.revision,
        "after": after.digest,
        "after_revision": after.revision,
    }
    AuditStore(database).add_event(kind, actor="operator", detail=protect({**facts}, Channel.AUDIT))


def _tell(database: Database, key: str, text: str) -> bool:
    added = OutboxStore(database).enqueue(
        key=key, kind=OutboxKind.notice, content=protect(text, Channel.OUTBOX)
    )
    return bool(added)
