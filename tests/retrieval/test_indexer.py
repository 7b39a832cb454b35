"""The index follows the disk: real files that come, change and go, also while the server is away."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest
from libraries import GUARD, Shelf, WordVectors, shelf, write
from pypdf import PdfWriter
from serving import HandClock

from odysseus.errors import BadRequest, Conflict, NotFound, ProviderError
from odysseus.extract.result import ExtractLimits
from odysseus.retrieval import indexer, reading, walking
from odysseus.retrieval.library import Entry

FILES: dict[str, str | bytes] = {
    "tea.md": "# Tea\n\nGreen tea draws for two minutes.\n",
    "deep/er/coffee.txt": "Coffee is roasted.\n",
    "code/main.py": "def brew(minutes):\n    return minutes\n",
}


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[Shelf]:
    async with shelf(tmp_path / "data", WordVectors()) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "notes", FILES)


async def entry(library: Shelf) -> Entry:
    (one,) = await library.library.entries()
    return one


async def vectors(library: Shelf) -> int:
    row = await library.db.read_one("SELECT count(*) FROM library_vectors")
    assert row
    return int(row[0])


async def test_a_folder_is_indexed_with_all_below_it(library: Shelf, folder: Path) -> None:
    await library.add(folder)
    one = await entry(library)
    assert (one.source.state, one.source.note, one.counts.documents, one.counts.chunks) == ("ready", "", 3, 3)
    assert (await library.found("roasted"))[0] == "deep/er/coffee.txt"
    assert (await library.found("brew minutes"))[0] == "code/main.py"


async def test_a_single_file_is_indexed_alone(library: Shelf, folder: Path) -> None:
    await library.add(folder / "tea.md")
    assert (await entry(library)).source.kind == "file"
    assert await library.found("green tea") == ["tea.md"]


async def test_an_upload_is_indexed_by_its_name(library: Shelf) -> None:
    upload = await library.uploads.add("Zutaten.md", "text/markdown", b"Mehl und Salz.")
    await library.library.add_upload(upload.id)
    await library.quiet()
    assert await library.found("Salz") == ["Zutaten.md"]
    with pytest.raises(NotFound):
        await library.library.add_upload("0" * 32)


async def test_an_upload_in_the_library_is_not_swept_away(tmp_path: Path) -> None:
    clock = HandClock()
    async with shelf(tmp_path / "data", WordVectors(), clock) as library:
        kept = await library.uploads.add("kept.txt", "text/plain", b"kept")
        await library.uploads.add("loose.txt", "text/plain", b"loose")
        await library.library.add_upload(kept.id)
        await library.quiet()
        clock.now += 10 * 86_400
        assert await library.uploads.sweep() == 1
        assert await library.uploads.get(kept.id)


async def test_only_what_has_changed_is_read_again(library: Shelf, folder: Path, tmp_path: Path) -> None:
    remote = WordVectors()
    async with shelf(tmp_path / "other", remote) as other:
        source = await other.add(folder)
        first = len(remote.texts)
        await other.refresh(source)
        assert len(remote.texts) == first
        (folder / "tea.md").write_text("White tea.")
        os.utime(folder / "code/main.py")  # the same bytes, written anew
        await other.refresh(source)
        assert remote.texts[first:] == ["White tea."]
        assert await other.found("green", meanings=False) == []
        assert await other.found("white", meanings=False) == ["tea.md"]


async def test_a_change_of_the_same_size_is_seen_by_its_time(library: Shelf, folder: Path) -> None:
    source = await library.add(folder)
    (folder / "tea.md").write_text(str(FILES["tea.md"]).replace("Green", "Black"))
    os.utime(folder / "tea.md", ns=(1, 1))
    await library.refresh(source)
    assert (await library.found("black", words=True, meanings=False)) == ["tea.md"]


async def test_a_removed_file_is_gone_from_every_table(library: Shelf, folder: Path) -> None:
    source = await library.add(folder)
    (folder / "tea.md").unlink()
    await library.refresh(source)
    assert "tea.md" not in await library.found("green tea", 9)
    assert (await entry(library)).counts.documents == 2
    for table in ("library_documents", "library_chunks", "library_words", "library_vectors"):
        row = await library.db.read_one(f"SELECT count(*) FROM {table}")
        assert row
        assert row[0] == 2, table


async def test_a_removed_file_is_not_found_even_before_the_index_knows(library: Shelf, folder: Path) -> None:
    await library.add(folder)
    (folder / "tea.md").unlink()
    assert "tea.md" not in await library.found("green tea", 9)
    await library.quiet()
    async with asyncio.timeout(GUARD):
        while (await entry(library)).counts.documents != 2:
            await library.quiet()


async def test_a_removed_entry_leaves_nothing_behind(library: Shelf, folder: Path) -> None:
    source = await library.add(folder)
    await library.library.remove(source)
    assert await library.found("green tea") == []
    assert await library.library.entries() == []
    await library.quiet()
    for table in ("sources", "documents", "chunks", "words", "vectors"):
        assert await library.db.read(f"SELECT rowid FROM library_{table}") == [], table
    for ask in (library.library.remove(source), library.library.refresh(source)):
        with pytest.raises(NotFound):
            await ask


async def test_what_was_removed_can_be_added_again_at_once(library: Shelf, folder: Path) -> None:
    first = await library.add(folder)
    await library.library.remove(first)
    second = (await library.library.add_path(str(folder))).id
    assert second != first
    await library.quiet()
    assert (await library.found("green tea"))[0] == "tea.md"


async def test_the_same_place_is_one_entry(library: Shelf, folder: Path) -> None:
    first = await library.add(folder)
    (folder / "new.md").write_text("Rooibos")
    assert await library.add(folder / "deep" / "..") == first
    assert (await library.found("rooibos"))[0] == "new.md"


async def test_a_folder_that_is_gone_says_so_and_comes_back(library: Shelf, folder: Path) -> None:
    source = await library.add(folder)
    folder.rename(folder.with_name("away"))
    await library.refresh(source)
    one = await entry(library)
    assert (one.source.state, one.counts.documents) == ("failed", 0)
    assert one.source.note.endswith(".")
    folder.with_name("away").rename(folder)
    await library.refresh(source)
    assert ((await entry(library)).source.state, await library.found("roasted", 1)) == ("ready", ["deep/er/coffee.txt"])


async def test_what_holds_no_text_is_left_out(library: Shelf, tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", {"secret.txt": "walrus"})
    folder = write(
        tmp_path / "mixed",
        {
            "a.txt": "seal",
            ".hidden": "walrus",
            ".git/config": "walrus",
            "node_modules/x/readme.md": "walrus",
            "film.mp4": b"\x00\x00\x00\x18ftypmp42" + b"walrus" * 9,
            "data.dat": bytes(range(256)) * 40,
            "empty.txt": b"",
        },
    )
    (folder / "link.txt").symlink_to(outside / "secret.txt")
    (folder / "linked").symlink_to(outside)
    os.mkfifo(folder / "pipe")
    await library.add(folder)
    one = await entry(library)
    assert (one.counts.documents, one.counts.chunks, one.counts.failed, one.counts.empty) == (3, 1, 1, 1)
    assert [path for path, _ in one.problems] == ["data.dat"]
    assert await library.found("walrus", meanings=False) == []


async def test_an_encrypted_pdf_says_so_and_the_others_are_read(library: Shelf, folder: Path) -> None:
    writer = PdfWriter()
    writer.add_blank_page(200, 200)
    writer.encrypt("secret")
    packed = io.BytesIO()
    writer.write(packed)
    (folder / "locked.pdf").write_bytes(packed.getvalue())
    await library.add(folder)
    one = await entry(library)
    ((path, note),) = one.problems
    assert path == "locked.pdf"
    assert "password" in note
    assert one.counts.chunks == 3


async def test_what_could_not_be_read_is_read_again_only_when_asked(library: Shelf, folder: Path) -> None:
    (folder / "bad.pdf").write_bytes(b"%PDF-1.7 nothing")
    source = await library.add(folder)
    before = {one.path: one.indexed_at for one in await library.store.documents(source)}
    await library.add(folder)
    same = {one.path: one.indexed_at for one in await library.store.documents(source)}
    assert same == before
    await library.refresh(source)
    after = {one.path: one.indexed_at for one in await library.store.documents(source)}
    assert {path for path in after if after[path] != before[path]} == {"bad.pdf"}


async def test_a_big_file_is_indexed_to_its_limit_and_says_so(
    library: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LIMITS", ExtractLimits(characters=100_000))
    text = "".join(f"Line {number} of a long log.\n" for number in range(100_000))
    await library.add(write(tmp_path / "big", {"log.txt": text}))
    one = await entry(library)
    (document,) = await library.store.documents(one.source.id)
    assert "Only the first 100,000 characters were read" in document.note
    assert 60 < one.counts.chunks < 150
    assert "log.txt" in await library.found("long log")


async def test_names_of_any_kind_are_kept(library: Shelf, tmp_path: Path) -> None:
    folder = write(tmp_path / "odd", {"a b\nc.txt": "newline", "ümläut/日本.md": "kanji", "-x.txt": "dash"})
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff.txt")).write_text("bytes")
    await library.add(folder)
    assert (await entry(library)).counts.documents == 3
    assert await library.found("kanji", 1) == ["ümläut/日本.md"]


async def test_a_folder_of_many_files_is_indexed_to_its_limit(
    library: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walking, "MOST_FILES", 5)
    await library.add(write(tmp_path / "many", {f"{number}.txt": f"n{number}" for number in range(9)}))
    one = await entry(library)
    assert one.counts.documents == 5
    assert one.source.note


async def test_a_full_library_says_so(library: Shelf, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexer, "MOST_CHUNKS", 2)
    await library.add(folder)
    one = await entry(library)
    assert one.counts.chunks <= 3
    assert "full" in one.source.note


class StopsAt(WordVectors):
    """Holds the indexing at one text until it is let go."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.reached = asyncio.Event()
        self.go = asyncio.Event()

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        if any(self.text in text for text in texts):
            self.reached.set()
            await self.go.wait()
        return await super().embed(texts)


async def test_a_restart_in_the_middle_goes_on_where_it_was(tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", {f"{number:02}.txt": f"Text number {number}." for number in range(20)})
    remote = StopsAt("number 10.")
    async with shelf(tmp_path / "data", remote) as library:
        await library.library.add_path(str(folder))
        async with asyncio.timeout(GUARD):
            await remote.reached.wait()
        done = (await entry(library)).counts.documents
        assert 0 < done < 20
    first = set(remote.texts)
    again = WordVectors()
    async with shelf(tmp_path / "data", again) as library:
        await library.quiet()
        one = await entry(library)
        assert (one.source.state, one.counts.documents, one.counts.chunks) == ("ready", 20, 20)
        assert await vectors(library) == 20
        assert len(again.texts) <= 20 - done
        assert first | set(again.texts) == {f"Text number {number}." for number in range(20)}


async def test_what_changed_while_the_server_was_away_is_seen_at_the_start(tmp_path: Path, folder: Path) -> None:
    async with shelf(tmp_path / "data", WordVectors()) as library:
        await library.add(folder)
    (folder / "tea.md").unlink()
    (folder / "new.md").write_text("Rooibos")
    async with shelf(tmp_path / "data", WordVectors()) as library:
        await library.quiet()
        assert await library.found("rooibos", 1) == ["new.md"]
        assert "tea.md" not in await library.found("green tea", 9)


async def test_all_entries_are_looked_at_again_after_the_interval(tmp_path: Path, folder: Path) -> None:
    clock = HandClock()
    async with shelf(tmp_path / "data", WordVectors(), clock, refresh_minutes=15) as library:
        await library.add(folder)
        (folder / "new.md").write_text("Rooibos")
        clock.advance(15 * 60 + 1)
        await library.quiet()
        assert await library.found("rooibos", 1) == ["new.md"]


async def test_a_refresh_during_the_indexing_is_not_lost(tmp_path: Path, folder: Path) -> None:
    remote = StopsAt("roasted")
    async with shelf(tmp_path / "data", remote) as library:
        source = (await library.library.add_path(str(folder))).id
        async with asyncio.timeout(GUARD):
            await remote.reached.wait()
        (folder / "new.md").write_text("Rooibos")
        await library.library.refresh(source)
        remote.go.set()
        await library.quiet()
        assert await library.found("rooibos", 1) == ["new.md"]


async def test_an_entry_that_is_removed_during_the_indexing_stays_away(tmp_path: Path, folder: Path) -> None:
    remote = StopsAt("roasted")
    async with shelf(tmp_path / "data", remote) as library:
        source = (await library.library.add_path(str(folder))).id
        async with asyncio.timeout(GUARD):
            await remote.reached.wait()
        await library.library.remove(source)
        remote.go.set()
        await library.quiet()
        assert await library.db.read("SELECT rowid FROM library_documents") == []


class Failing(WordVectors):
    """An endpoint that is down."""

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        raise ProviderError("The endpoint could not be reached.")


async def test_without_vectors_words_are_found_and_the_vectors_come_later(tmp_path: Path, folder: Path) -> None:
    async with shelf(tmp_path / "data", Failing()) as library:
        await library.add(folder)
        mode, note = library.library.retrieval.mode()
        assert mode == "words"
        assert "The endpoint could not be reached." in note
        assert await library.found("roasted") == ["deep/er/coffee.txt"]
        assert await vectors(library) == 0
    async with shelf(tmp_path / "data", WordVectors()) as library:
        await library.quiet()
        assert await vectors(library) == 3
        assert library.library.retrieval.mode() == ("hybrid", "")


async def test_another_model_makes_all_vectors_anew(tmp_path: Path, folder: Path) -> None:
    async with shelf(tmp_path / "data", WordVectors()) as library:
        await library.add(folder)
    other = WordVectors()
    other.name = "another"
    async with shelf(tmp_path / "data", other) as library:
        await library.quiet()
        assert len(other.texts) == 3
        rows = await library.db.read("SELECT DISTINCT model FROM library_vectors")
        assert [row[0] for row in rows] == ["another"]


async def test_the_progress_counts_the_files(tmp_path: Path, folder: Path) -> None:
    remote = StopsAt("roasted")
    async with shelf(tmp_path / "data", remote) as library:
        source = (await library.library.add_path(str(folder))).id
        async with asyncio.timeout(GUARD):
            await remote.reached.wait()
        now = library.library.board.now
        assert (now.running, now.source_id, now.name, now.total) == (True, source, "notes", 3)
        assert now.done < 3
        version = library.library.board.version
        remote.go.set()
        async with asyncio.timeout(GUARD):
            await library.library.board.after(version)
        await library.quiet()
        assert not library.library.board.now.running


async def test_an_empty_library_starts_no_process(library: Shelf) -> None:
    await library.quiet()
    assert await library.found("anything") == []
    assert not [child for child in psutil.Process().children() if "embedding_worker.py" in " ".join(child.cmdline())]


@pytest.mark.parametrize("place", ["/", "~", "data", "data/uploads", "..", "relative", "", "/nowhere/at/all", "a\x00b"])
async def test_what_cannot_be_added_is_refused(library: Shelf, tmp_path: Path, place: str) -> None:
    (tmp_path / "data" / "uploads").mkdir(exist_ok=True)
    places = {"~": str(Path.home()), "data": str(tmp_path / "data"), "..": str(tmp_path)}
    text = places.get(place, str(tmp_path / place) if place == "data/uploads" else place)
    with pytest.raises(BadRequest) as refused:
        await library.library.add_path(text)
    assert str(tmp_path) not in refused.value.message
    assert refused.value.message.endswith(".")


async def test_a_library_that_is_off_takes_and_finds_nothing(tmp_path: Path, folder: Path) -> None:
    async with shelf(tmp_path / "data", WordVectors(), on=False) as library:
        with pytest.raises(Conflict):
            await library.library.add_path(str(folder))
        assert library.library.retrieval.mode()[0] == "off"
        assert await library.found("tea") == []
