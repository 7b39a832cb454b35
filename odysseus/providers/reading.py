"""One answer from its records to its chunks, for wires whose records are JSON objects with a type of their own.

Must not know a vendor's words: those are its Answer's. What makes an answer whole belongs to the assembly.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from odysseus.errors import ProviderError
from odysseus.providers.assembly import Assembly
from odysseus.providers.base import Chunk
from odysseus.providers.failures import clean_message, reported_error
from odysseus.providers.openai_mapping import parse
from odysseus.providers.tool_calls import ToolCallDelta
from odysseus.providers.wire import Decoder, Record

_NOT_AN_ANSWER = "The endpoint answered with something that is not a model's answer. Check its base URL and its kind."
_BROKEN = "The endpoint sent a piece of its answer that is not valid JSON."
_log = logging.getLogger(__name__)


class Answer(Protocol):
    """A vendor's side of one answer: what each record means in the light of those before it."""

    done: bool
    """The vendor's own last record was seen."""

    def read(self, body: Any) -> Iterable[Chunk | ToolCallDelta]:
        """The chunks of one record; nothing for one that is not known. Raises ProviderError when it reports one."""
        ...

    def read_whole(self, body: Any) -> Iterable[Chunk | ToolCallDelta]:
        """The chunks of an answer in one document. Raises ValueError when it is none, ProviderError as `read`."""
        ...


class RecordReading:
    """A Reading, as the HTTP glue wants it, over any Answer."""

    def __init__(self, decoder: Decoder, answer: Answer, assembly: Assembly, secrets: Sequence[str] = ()) -> None:
        self.decoder = decoder
        self.failure: ProviderError | None = None
        self._answer = answer
        self._assembly = assembly
        self._secrets = secrets

    @property
    def done(self) -> bool:
        return self._answer.done

    @property
    def finished(self) -> bool:
        return self._assembly.finished is not None

    def take(self, records: Sequence[Record], *, last: bool = False) -> list[Chunk]:
        chunks: list[Chunk] = []
        for record in records:
            chunks += self._guarded(self._take_one, record, last)
            if self.done or self.failure:
                break
        return chunks

    def take_whole(self, body: bytes) -> list[Chunk]:
        return self._guarded(self._take_document, body)

    def end(self) -> list[Chunk]:
        held = self._assembly.flush()
        self.failure = self.failure or self._assembly.fault(ended=self.done)
        return [*held, *self._assembly.end(whole=self.failure is None)]

    def _guarded(self, take: Callable[..., list[Chunk]], *given: Any) -> list[Chunk]:
        try:
            return take(*given)
        except ProviderError as error:
            words = clean_message(error.message, self._secrets)
            self.failure = ProviderError(words, status=error.status, retryable=error.retryable)
            return []

    def _take_one(self, record: Record, last: bool) -> list[Chunk]:
        try:
            body = parse(record.data)
        except ValueError:
            return self._take_words(record, last)
        if record.event == "error" and not (isinstance(body, dict) and ("error" in body or "type" in body)):
            raise reported_error(body)
        return self._assembly.add(self._answer.read(body))

    def _take_words(self, record: Record, last: bool) -> list[Chunk]:
        """A record that is not JSON: an error in words, JSON that was cut, or some keep-alive of the server's own."""
        if record.event == "error":
            raise reported_error(record.data.decode("utf-8", "replace"))
        if record.data.startswith(b"{") and not last:
            raise ProviderError(_BROKEN)
        _log.info("Left out a record of %d bytes that is not JSON", len(record.data))
        return []

    def _take_document(self, body: bytes) -> list[Chunk]:
        try:
            return self._assembly.add(self._answer.read_whole(parse(body)))
        except ValueError as error:
            raise ProviderError(_NOT_AN_ANSWER) from error
