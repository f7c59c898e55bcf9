"""Model stand-ins on loopback: the rehearsal model for the demo, the scripted one for tests."""

from perlica.demo.model.exchange import Exchange, Outcome
from perlica.demo.model.rehearsal import RehearsalModel
from perlica.demo.model.reply import Call, Reply
from perlica.demo.model.scripted import ScriptedModel
from perlica.demo.model.server import NothingHappened
from perlica.demo.model.turns import (
    CutOff,
    Drip,
    Garbage,
    HeadersThenSilent,
    Held,
    HttpError,
    Silent,
    Unfinished,
)

__all__ = [
    "Call",
    "CutOff",
    "Drip",
    "Exchange",
    "Garbage",
    "HeadersThenSilent",
    "Held",
    "HttpError",
    "NothingHappened",
    "Outcome",
    "RehearsalModel",
    "Reply",
    "ScriptedModel",
    "Silent",
    "Unfinished",
]
