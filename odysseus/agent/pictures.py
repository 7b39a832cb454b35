"""Who makes the agent's pictures: the endpoint of the settings, as it is when a picture is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from odysseus.config import EndpointConfig, ImagesConfig
from odysseus.errors import ProviderError
from odysseus.providers.http import HttpEndpoint
from odysseus.providers.image_models import ABLE
from odysseus.providers.images import generate_images
from odysseus.providers.profiles import profile_of
from odysseus.tools.images import MadeImage, MakeImage


def picture_maker(images: ImagesConfig, endpoints: Callable[[], Sequence[EndpointConfig]]) -> MakeImage | None:
    """Who makes pictures by these settings, None when nobody does. `endpoints` gives those that are there now."""
    if not images.endpoint:
        return None

    async def make(prompt: str, size: str) -> MadeImage:
        config = _endpoint(images, endpoints())
        model = _model(images, config)
        # A connection of its own: pictures are few, and the endpoint may be another one the next time.
        http = HttpEndpoint(config, profile_of(config).key_headers)
        try:
            pictures = await generate_images(http, prompt, model, size=size)
        finally:
            await http.close()
        return MadeImage(pictures[0].data, pictures[0].mime, model)

    return make


def _endpoint(images: ImagesConfig, endpoints: Sequence[EndpointConfig]) -> EndpointConfig:
    config = next((endpoint for endpoint in endpoints if endpoint.id == images.endpoint), None)
    if config is None:
        raise ProviderError("The endpoint for pictures is not there. Check the setting images.endpoint.", status=400)
    if config.kind not in ABLE:
        raise ProviderError(
            f"The endpoint {config.name!r} cannot make pictures. Choose an OpenAI-compatible one in the setting "
            "images.endpoint.",
            status=400,
        )
    return config


def _model(images: ImagesConfig, config: EndpointConfig) -> str:
    model = images.model or next(iter(config.models), "")
    if not model:
        raise ProviderError("No image model is set. Name one in the setting images.model.", status=400)
    return model
