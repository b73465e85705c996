from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators.child import folders, wire
from evaluators.child.result import read_result
from evaluators.child.streams import Stream
from evaluators.reading import last_line

CHUNKS = st.lists(st.text(alphabet="ab \r\n\t", max_size=30).map(str.encode), max_size=20)


@given(CHUNKS)
def test_a_stream_keeps_head_tail_and_the_last_line(chunks: list[bytes]) -> None:
    stream = Stream(40)
    for chunk in chunks:
        stream.feed(chunk)
    whole = b"".join(chunks)
    assert last_line(stream.last_line()) == last_line(whole)
    if len(whole) <= 40:
        assert stream.text() == whole
    else:
        assert stream.text().startswith(whole[:20]) and stream.text().endswith(whole[-20:])
        assert f"[{len(whole) - 40:,} bytes of output cut here]".encode() in stream.text()


@given(
    st.lists(
        st.tuples(st.dictionaries(st.text(max_size=3), st.integers()), st.binary(max_size=50)), max_size=5
    ),
    st.integers(1, 60),
)
def test_messages_survive_any_fragmentation(messages: list[tuple[dict[str, int], bytes]], size: int) -> None:
    data = b"".join(wire.pack(header, {"a": blob, "b": b"x"}) for header, blob in messages)
    inbox = wire.Inbox()
    found = []
    for start in range(0, len(data), size):
        inbox.feed(data[start : start + size])
        while (message := inbox.take()) is not None:
            found.append(message)
    assert found == [(header, {"a": blob, "b": b"x"}) for header, blob in messages]


def test_emptying_follows_no_link_and_keeps_what_it_shall(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "treasure").touch()
    folder = tmp_path / "folder"
    (folder / "kept" / "inner").mkdir(parents=True)
    (folder / "kept" / "inner" / "file").touch()
    (folder / "kept" / "other").touch()
    (folder / "link").symlink_to(outside)
    (folder / "nest" / "below").mkdir(parents=True)
    (folder / "nest" / "below" / "link").symlink_to(outside)
    os.mkfifo(folder / "nest" / "fifo")
    (folder / "nest" / "below").chmod(0)
    folders.empty(str(folder), [f"{folder}/kept/inner"])
    assert sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*")) == [
        "kept",
        "kept/inner",
        "kept/inner/file",
    ]
    assert (outside / "treasure").exists()


def test_emptying_a_folder_of_any_depth(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=descriptor)
        below = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    os.close(descriptor)
    folders.empty(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["missing", "file", "link", "fifo", "folder", "large"])
def test_only_a_regular_file_is_read_as_a_result(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "result.json"
    if kind == "file":
        path.write_text("1")
    elif kind == "link":
        path.symlink_to("/etc/passwd")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "large":
        with path.open("wb") as file:
            file.truncate(1 << 30)
    folder = os.open(tmp_path, os.O_RDONLY)
    data, problem = read_result(folder, "result.json")
    os.close(folder)
    assert data == (b"1" if kind == "file" else None)
    assert (problem is None) == (kind in ("missing", "file"))
