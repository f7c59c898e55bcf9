"""Owners' changes of the one global image: its introduction (Medium) and the image itself (High).

Planned from the tables like every tool call; no tool reaches this, only an Owner's `.image`.
"""

import re
from typing import Final

from perlica.domain.errors import Refused
from perlica.domain.node import ANSWERING
from perlica.domain.plan import JsonValue
from perlica.domain.sandbox import HeldImage, SandboxImage
from perlica.gateway.core.tool import Planned
from perlica.gateway.core.work import Mandate, ToolResult
from perlica.gateway.families.sandbox.facts import current_image, plan_change
from perlica.gateway.families.sandbox.settings import SandboxContext
from perlica.protection import Channel, protect
from perlica.sandboxes import image_switch
from perlica.stores.image_switches import Doomed, ImageSwitchStore, NewSwitch
from perlica.stores.nodes import NodeStore
from perlica.stores.sandboxes import SandboxStore

INTRODUCE: Final = "image.introduce"
RETRY: Final = "image.retry"
SWITCH: Final = "image.switch"
_LEAST_DIGITS: Final = 12
_DIGEST: Final = re.compile(r"(?:sha256:)?([0-9a-f]{12,64})")
_SOURCE: Final = "sandbox image"


def plan_introduction(context: SandboxContext, introduction: str) -> Planned:
    """Another introduction of the same image: only the revision grows.

    Raises: Refused while the image is being switched.
    """
    _refuse_while_switching(context)
    image = current_image(context)
    text = protect(introduction, Channel.TOOL_ARGUMENTS)
    if not text.content:
        raise Refused("bad_introduction", "the introduction is empty or could not be checked")

    def run(_mandate: Mandate) -> ToolResult:
        changed = SandboxImage(
            reference=image.reference,
            digest=image.digest,
            introduction=text.content,
            revision=image.revision + 1,
        )
        SandboxStore(context.database).set_image(changed)
        return ToolResult(text=f"revision {changed.revision}", source=_SOURCE)

    return plan_change(
        context,
        INTRODUCE,
        scope="service",
        destination=_every_node(context),
        target={"image_digest": image.digest, "image_revision": image.revision},
        effect={"introduction": introduction},
        run=run,
    )


def plan_retry(context: SandboxContext) -> Planned:
    """Let a blocked switch go on. Raises: Refused when none is blocked."""
    switch = ImageSwitchStore(context.database).current()
    if switch is None:
        raise Refused("nothing_blocked", "no image switch is blocked")

    def run(_mandate: Mandate) -> ToolResult:
        image_switch.retry(context.database)
        return ToolResult(text="goes on", source=_SOURCE)

    return plan_change(
        context,
        RETRY,
        scope="service",
        destination=_every_node(context),
        target={"switch": switch.id, "image_digest": switch.digest},
        effect={},
        run=run,
    )


def plan_switch(context: SandboxContext, digest: str, introduction: str) -> Planned:
    """Another image: bound to its digest and to exactly the sandboxes that it destroys.

    `digest` may be its beginning (12 digits or more) of an image that every node holds. It is
    carried out by a ticket alone.

    Raises: Refused when there is no such image, one sandbox is being made, or a switch is under
    way.
    """
    _refuse_while_switching(context)
    current = current_image(context)
    held = _find_held(context, digest)
    if held.digest == current.digest:
        raise Refused("same_image", "this image is in force already")
    doomed = image_switch.find_doomed(context.database)

    def run(mandate: Mandate) -> ToolResult:
        if mandate.ticket is None:
            raise Refused("not_paid", "a switch needs its ticket")
        image_switch.begin(
            context.database,
            NewSwitch(
                ticket=mandate.ticket,
                operation=mandate.operation,
                reference=held.reference,
                digest=held.digest,
                introduction=protect(introduction, Channel.TOOL_ARGUMENTS),
                current=current,
                doomed=doomed,
            ),
        )
        return ToolResult(text=f"{len(doomed)} sandboxes are destroyed", source=_SOURCE)

    return plan_change(
        context,
        SWITCH,
        scope="service",
        destination=_every_node(context),
        target={"image_digest": held.digest, "reference": held.reference},
        effect={
            "from_digest": current.digest,
            "from_revision": current.revision,
            "introduction": introduction,
            "destroys": _shown(doomed),
        },
        run=run,
    )


def _shown(doomed: tuple[Doomed, ...]) -> list[JsonValue]:
    return [{"name": d.name, "instance": d.instance, "node": d.node} for d in doomed]


def _refuse_while_switching(context: SandboxContext) -> None:
    if ImageSwitchStore(context.database).current() is not None:
        raise Refused("image_switching", "the image is being switched")


def _find_held(context: SandboxContext, digest: str) -> HeldImage:
    """The image that a word means, if every node that answers holds it by its last look."""
    match = _DIGEST.fullmatch(digest.lower())
    if match is None:
        raise Refused("bad_digest", f"write at least {_LEAST_DIGITS} digits of the digest")
    found: dict[str, HeldImage] = {}
    lacking: list[str] = []
    store = NodeStore(context.database)
    for name in context.settings.nodes:
        node = store.find(name)
        if node is not None and node.state not in ANSWERING:
            continue
        images = node.images if node is not None else ()
        here = [i for i in images if i.digest.startswith(f"sha256:{match[1]}")]
        found |= {image.digest: image for image in here}
        if not here:
            lacking.append(name)
    if len(found) > 1:
        raise Refused("ambiguous_digest", "several images begin like this; write more digits")
    if not found:
        raise Refused("no_such_image", "no node holds such an image; import it there first")
    if lacking:
        raise Refused("node_lacks_image", f"these nodes lack the image: {', '.join(lacking)}")
    return next(iter(found.values()))


def _every_node(context: SandboxContext) -> str:
    """The destination of a change that all nodes follow."""
    return f"nodes:{','.join(context.settings.nodes)}"
