"""Files as they are and as they are to be, before anything is written: what the tools that change files plan with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from odysseus.store.changes import SIZE_LIMIT
from odysseus.tools.base import ToolError
from odysseus.tools.confine import Place, locate
from odysseus.tools.content import Encoding, decode, encode
from odysseus.tools.output import PREFIX
from odysseus.tools.patch import FilePatch
from odysseus.tools.patching import apply_hunks, new_text
from odysseus.tools.rewriting import Rewrite, read_whole
from odysseus.tools.workspace import Workspace


@dataclass(slots=True)
class Draft:
    """Changes to files of a workspace. Every method raises ToolError for what cannot be done."""

    workspace: Workspace
    _files: dict[Place, Rewrite] = field(default_factory=dict)

    def file(self, path: str) -> Rewrite:
        """A file by its path, as the draft has it so far."""
        if path.startswith(PREFIX):
            raise ToolError("A kept output can be read but not changed. Write to a file of the workspace.")
        place = locate(self.workspace, path)
        if not place.parts:
            raise ToolError("The path is the workspace itself. Give a file in it.")
        if place not in self._files:
            before, mode = read_whole(place)
            self._files[place] = Rewrite(place, before, before, mode)
        return self._files[place]

    def put(self, file: Rewrite, content: bytes | None, mode: int | None = None) -> None:
        """Give a file another content, None for no file; `mode` is for one that was not there."""
        if content is not None and len(content) > SIZE_LIMIT:
            raise ToolError(
                f"{file.place.shown} would be larger than {SIZE_LIMIT // 1_000_000} MB. Use a command for it."
            )
        if file.before is not None and file.mode is not None and not file.mode & 0o222:
            raise ToolError(f"{file.place.shown} is read-only. Ask the user to allow writing to it.")
        kept = file.mode if file.mode is not None else mode
        self._files[file.place] = replace(file, after=content, mode=kept)

    def steps(self) -> Sequence[Rewrite]:
        """What is to be done, in the order in which files were named."""
        return [file for file in self._files.values() if file.before != file.after]

    def patch(self, patch: FilePatch) -> None:
        """Take one file of a patch in."""
        file = self.file(patch.path)
        shown = file.place.shown
        if patch.action == "add":
            if file.after is not None:
                raise ToolError(f"{shown} is there already, so the patch cannot add it. Update it instead.")
            self.put(file, new_text(patch.hunks).encode())
            return
        if file.after is None:
            raise ToolError(f"{shown} does not exist, so the patch cannot {patch.action} it.")
        after, rest = _patched(file, patch)
        if patch.action == "delete":
            if patch.hunks and rest:
                raise ToolError(f"The patch deletes {shown}, but the file holds more than the patch takes out.")
            self.put(file, None)
        elif patch.new_path:
            self._move(file, self.file(patch.new_path), after)
        else:
            self.put(file, after)

    def _move(self, file: Rewrite, target: Rewrite, content: bytes) -> None:
        if target.after is not None:
            raise ToolError(f"{target.place.shown} is there already, so {file.place.shown} cannot be moved to it.")
        self.put(file, None)
        self.put(target, content, file.mode)


def text_of(file: Rewrite) -> tuple[str, Encoding]:
    """A file's text as the draft has it. Raises ToolError."""
    if file.after is None:
        raise ToolError(f"{file.place.shown} does not exist. Use write_file to make it, or ls to see what is there.")
    found = decode(file.after)
    if found is None:
        raise ToolError(f"{file.place.shown} is not a text file, so it cannot be edited.")
    return found


def _patched(file: Rewrite, patch: FilePatch) -> tuple[bytes, str]:
    """A file's bytes and text after its hunks; bytes without hunks stay, whatever they are."""
    if not patch.hunks:
        return file.after or b"", ""
    text, encoding = text_of(file)
    made = apply_hunks(file.place.shown, text, patch.hunks)
    return encode(made, encoding), made
