"""The one door to language models: what a turn is, and the clients that fetch one over HTTP.

Used by `perlica.session.native`; `perlica.app` chooses the client with `open_client`. Importing
this package costs no HTTP library: that is loaded with `perlica.clients.model.openai` or
`.anthropic`.
"""

from perlica.clients.model.contract import (
    AssistantMessage,
    ChatMessage,
    Conversation,
    Finish,
    ModelCall,
    ModelClient,
    ModelTurn,
    ProbeFinding,
    SentCall,
    SystemMessage,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from perlica.clients.model.settings import ModelSettings, open_client

__all__ = [
    "AssistantMessage",
    "ChatMessage",
    "Conversation",
    "Finish",
    "ModelCall",
    "ModelClient",
    "ModelSettings",
    "ModelTurn",
    "ProbeFinding",
    "SentCall",
    "SystemMessage",
    "ToolMessage",
    "ToolSpec",
    "UserMessage",
    "open_client",
]
