"""Which client speaks to a model: chosen by the settings, loaded only when it is wanted."""

from perlica.clients.model.contract import ModelClient
from perlica.clients.model.settings import Api, ModelSettings


def open_client(settings: ModelSettings) -> ModelClient:
    """A client for the API that the settings name; loads the HTTP library."""
    if settings.api is Api.anthropic:
        from perlica.clients.model.anthropic import AnthropicClient  # noqa: PLC0415 - heavy import

        return AnthropicClient(settings)
    from perlica.clients.model.openai import OpenAiClient  # noqa: PLC0415 - heavy import

    return OpenAiClient(settings)
