"""The embedded model as a provider: one generation at a time, loaded when needed, freed when unused.

Knows the runtime's chunks and the folder of models; the process itself is in local_engine.py.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from odysseus.clock import Clock, Timer
from odysseus.config import LocalConfig
from odysseus.errors import ProviderError
from odysseus.events import FinishReason, ReasoningDelta, TextDelta, UsageReport
from odysseus.models import catalogue
from odysseus.providers.base import AnsweredBy, ChatRequest, Chunk, Finished, ModelListing
from odysseus.providers.local_engine import Engine, EngineError, EngineSettings, Line
from odysseus.providers.local_tools import LEAST_BYTES, answer_request, decided_calls, decision_request

logger = logging.getLogger(__name__)

_CLOSE_SECONDS = 0.8
_REASONS: dict[str, FinishReason] = {"stop": "stop", "length": "length", "tool_calls": "tool_calls"}
_HOW = "Install one from the page, or with: python server.py model install"
_FAILURES = {
    "missing": "The runtime is not installed. Install Odysseus with the extra `local`.",
    "runtime": "The runtime does not start on this system. On Linux it needs the system package libgomp1.",
    "model": "The model cannot be loaded. Its file may be damaged; install it again.",
    "load": "The model ended while it loaded. There may be too little memory for it.",
    "died": "The embedded model ended unexpectedly. Try again.",
}


class LocalProvider:
    """Answers with a model of `models_dir`. Owns the model's process and the timer that frees it."""

    def __init__(self, config: LocalConfig, models_dir: Path, clock: Clock) -> None:
        self._config = config
        self._folder = models_dir
        self._clock = clock
        self._turn = asyncio.Lock()  # fair: first come, first served
        self._engine: Engine | None = None
        self._timer: Timer | None = None
        self._chooses = False
        self._failed = False
        self._closed = False

    def state(self) -> str:
        """`ready`, `loading`, `failed` (the last load), `idle` (can load) or `missing` (no model). Never waits."""
        if self._engine and self._engine.alive:
            return "ready" if self._engine.loaded else "loading"
        if not catalogue.names(self._folder):
            return "missing"
        return "failed" if self._failed else "idle"

    async def models(self) -> Sequence[ModelListing]:
        """The installed models, the configured one first."""
        found = await asyncio.to_thread(catalogue.installed, self._folder)
        found.sort(key=lambda model: model.name != self._config.model)
        return [
            ModelListing(model.name, self._window(model), tools=model.size >= LEAST_BYTES, vision=False)
            for model in found
        ]

    async def count(self, model: str, texts: Sequence[str]) -> Sequence[int] | None:
        """By the model that is loaded, also while it answers; None when that is another, or none."""
        engine = self._engine
        if engine is None or not engine.loaded or engine.settings.name != (model or self._config.model):
            return None
        try:
            return await engine.count(texts)
        except EngineError as error:
            logger.info("the embedded model does not count: %s", error)
            return None

    async def preload(self) -> None:
        """Load the configured model, so that the first request finds it ready. `state` tells when that fails."""
        with suppress(ProviderError):
            async with self._take_turn(""):
                pass

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Sequence[Chunk], None]:
        """See Provider. Waits for the requests before it, and for the model to load."""
        async with self._take_turn(request.model) as engine:
            reading = _Reading(engine.settings.name)
            if request.tools and self._chooses:
                calls = await self._decide(engine, request, reading)
                if calls:
                    yield [*calls, *reading.last(calling=True)]
                    return
            answering = answer_request(request, engine.settings.n_ctx)
            async with aclosing(self._generate(engine, answering, reading)) as batches:
                async for chunks in batches:
                    yield chunks
            yield reading.last()

    async def _decide(self, engine: Engine, request: ChatRequest, reading: _Reading) -> list[Chunk]:
        """The call that the model makes now; nothing when it is to answer."""
        asked = decision_request(request, engine.settings.n_ctx // 2)
        text = ""
        async with aclosing(self._generate(engine, asked, reading)) as batches:
            async for chunks in batches:
                text += "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))
        return decided_calls(request, text, cut=reading.cut)

    async def _generate(
        self, engine: Engine, request: ChatRequest, reading: _Reading
    ) -> AsyncGenerator[list[Chunk], None]:
        """One generation: what the reading makes of each batch."""
        try:
            async with aclosing(engine.generate(self._body(request))) as batches:
                async for batch in batches:
                    chunks = [chunk for item in batch for chunk in reading.take(item)]
                    if chunks:
                        yield chunks
        except EngineError as error:
            raise self._explain(error) from error

    async def close(self) -> None:
        """Free the memory at once, also in the middle of a load or a generation, and refuse what waits."""
        self._closed = True
        self._stop_timer()
        if self._engine:
            self._engine.kill()
            await self._engine.wait(_CLOSE_SECONDS)

    def _body(self, request: ChatRequest) -> Line:
        body: Line = {
            "messages": [{"role": message.role, "content": message.content} for message in request.messages],
            "max_tokens": request.max_tokens or self._config.max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
            "return_progress": True,  # gives a stop its chance while the prompt is read
        }
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.response_schema is not None:
            form = {"name": "answer", "schema": request.response_schema}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return body

    @asynccontextmanager
    async def _take_turn(self, name: str) -> AsyncIterator[Engine]:
        async with self._turn:
            self._stop_timer()
            try:
                yield await self._engine_for(name)
            finally:
                if not self._closed:
                    self._timer = self._clock.call_later(self._config.unload_seconds, self._unload)

    async def _engine_for(self, name: str) -> Engine:
        model = await asyncio.to_thread(self._choose, name)
        if self._closed:
            raise ProviderError("The embedded model is closed.", status=503)
        self._chooses = model.size >= LEAST_BYTES
        settings = EngineSettings(model.name, model.path, self._window(model), self._threads())
        engine = self._engine
        if engine and engine.alive and engine.loaded and engine.settings == settings:
            return engine
        if engine:
            engine.kill()
            await engine.wait(_CLOSE_SECONDS)
        return await self._load(settings)

    async def _load(self, settings: EngineSettings) -> Engine:
        self._failed = False
        try:
            engine = self._engine = await Engine.start(settings)
        except OSError as error:
            self._failed = True
            raise ProviderError("The embedded model could not start.", status=503) from error
        try:
            if self._closed:
                raise EngineError("died", "closed while it started")
            await engine.load()
        except EngineError as error:
            self._failed = not self._closed
            raise self._explain(error) from error
        finally:
            if not engine.loaded:
                engine.kill()
        return engine

    def _choose(self, name: str) -> catalogue.InstalledModel:
        """The model that was asked for; with no name the configured one, else the first there is."""
        wanted = (name,) if name else (self._config.model, *catalogue.names(self._folder))
        for candidate in wanted:
            model = catalogue.find(self._folder, candidate)
            if model:
                return model
        if name:
            shown = f"The model {name}" if catalogue.is_name(name) else "This model"
            raise ProviderError(f"{shown} is not installed. {_HOW}", status=503)
        raise ProviderError(f"No model is installed. {_HOW}", status=503)

    def _window(self, model: catalogue.InstalledModel) -> int:
        return min(self._config.context_length, model.context_length or self._config.context_length)

    def _threads(self) -> int:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return self._config.threads or max(1, cores - 1)

    def _unload(self) -> None:
        if self._engine and not self._turn.locked():
            self._engine.kill()

    def _stop_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def _explain(self, error: EngineError) -> ProviderError:
        if self._closed:
            return ProviderError("The embedded model is closed.", status=503)
        logger.warning("the embedded model failed: %s", error)
        return ProviderError(_FAILURES[error.reason], status=503, retryable=error.reason == "died")


class _Reading:
    """Takes the runtime's chunks apart, and keeps what is given last. Counts over several generations."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._usage: UsageReport | None = None
        self._finish: str | None = None

    @property
    def cut(self) -> bool:
        """Whether the last generation ran into its length limit."""
        return self._finish == "length"

    def take(self, item: Line) -> list[Chunk]:
        if "error" in item:
            raise _refusal(item["error"])
        if usage := item.get("usage"):
            self._count(usage)
        chunks: list[Chunk] = []
        for choice in item["choices"]:
            self._finish = choice["finish_reason"] or self._finish
            if thought := choice["delta"].get("reasoning_content"):
                chunks.append(ReasoningDelta(thought))
            if text := choice["delta"].get("content"):
                chunks.append(TextDelta(text))
        return chunks

    def last(self, *, calling: bool = False) -> list[Chunk]:
        reason: FinishReason | None = _REASONS.get(self._finish or "")
        end = Finished("tool_calls" if calling and not self.cut else reason, self._finish)
        return [*([self._usage] if self._usage else []), AnsweredBy(self._model), end]

    def _count(self, usage: dict[str, Any]) -> None:
        cached = usage.get("prompt_tokens_details", {}).get("cached_tokens") or 0
        before = self._usage or UsageReport(0, 0, cached_input_tokens=0)
        self._usage = replace(
            before,
            input_tokens=before.input_tokens + usage["prompt_tokens"],
            output_tokens=before.output_tokens + usage["completion_tokens"],
            cached_input_tokens=(before.cached_input_tokens or 0) + cached,
            model=self._model,
        )


def _refusal(error: dict[str, Any]) -> ProviderError:
    if error.get("type") == "exceed_context_size_error":
        needed, window = error["n_prompt_tokens"], error["n_ctx"]
        return ProviderError(
            f"The prompt has {needed} tokens, but the model's window holds {window}. "
            "Shorten the message, or go on in a new chat.",
            status=400,
        )
    logger.warning("the embedded model refused a request: %s", error)
    status = 400 if error.get("code") == 400 else 500
    return ProviderError("The embedded model could not take this request.", status=status)
