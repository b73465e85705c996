"""Replies of models: every case of tests/cases/model_reply, and what holds for all replies."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from reply_repo import ReplyRepo, ScriptedModels, asking

from evolve.globs import matcher
from evolve.operators.base import Draft, Refused, Source
from evolve.operators.edit import Edit
from evolve.operators.replies import Delete, ReplyError, Whole, apply, parse

CASES = sorted((Path(__file__).parent.parent / "cases" / "model_reply").iterdir())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Path, tmp_path: Path) -> None:
    data = tomllib.loads((case / "case.toml").read_text(encoding="utf-8"))
    given, expect = data["input"], data["expect"]
    files = {path: (case / name).read_bytes() for path, name in given["files"].items()}
    repo = ReplyRepo(tmp_path, files, given.get("links"), matcher(given["include"]))
    replies = [(case / name).read_bytes().decode() for name in given["replies"]]
    models = ScriptedModels(replies, given.get("finish_reason", "stop"))
    result = propose(repo, models)

    asked = len(models.requests)
    assert asked <= expect.get("model_calls_max", 2)
    assert asked == expect.get("model_calls", asked)
    for words in expect.get("second_request_has", []):
        assert words in models.requests[1][-1]["content"]
    assert any(outcome_fits(case, repo, result, {**expect, **one}) for one in expect.get("any_of", [{}]))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["repo", "store.git"]


def propose(repo: ReplyRepo, models: ScriptedModels) -> Draft | Refused:
    async def main() -> Draft | Refused:
        try:
            return await asking(Edit, models).propose_async(repo.order(), repo.source)
        except Refused as refusal:
            return refusal

    return trio.run(main)


def outcome_fits(case: Path, repo: ReplyRepo, result: Draft | Refused, expect: Mapping[str, Any]) -> bool:
    if isinstance(result, Refused):
        return expect["outcome"] == "refused" and all(word in str(result) for word in expect.get("says", []))
    tree = repo.store.write_tree(repo.base.id, result.changes)
    if expect["outcome"] != "files" or set(expect.get("unchanged", [])) & set(result.changes):
        return False
    assert list(repo.store.changed_paths(repo.base.id, tree)) == expect["changed"]
    for path, wanted in expect.get("files", {}).items():
        content = repo.store.read(tree, path)
        assert content is not None
        hashes = wanted.get("sha256_any_of") or [wanted["sha256"]]
        assert hashlib.sha256(content).hexdigest() in hashes
    return True


@dataclass
class Entry:
    path: str
    oid: str
    mode: int = 0o100644


class Files:
    """The part of a store that `apply` reads."""

    def __init__(self, files: Mapping[str, bytes], modes: Mapping[str, int] | None = None) -> None:
        self.content = files
        self.modes = modes or {}

    def files(self, tree: str) -> list[Entry]:
        return [Entry(path, path, self.modes.get(path, 0o100644)) for path in self.content]

    def blob(self, oid: str) -> bytes:
        return self.content[oid]


def edited(reply: str, files: Mapping[str, bytes], **modes: int) -> dict[str, bytes | None]:
    source = Source(Files(files, modes), lambda path: not path.startswith("protected"))  # type: ignore[arg-type]
    return apply(parse(reply, known=set(files)).edits, source, "tree")


def refusal(reply: str, files: Mapping[str, bytes], **modes: int) -> str:
    with pytest.raises(ReplyError) as caught:
        edited(reply, files, **modes)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def block(search: str, replace: str, path: str = "a.py", marks: int = 7) -> str:
    middle = "".join(f"{line}\n" for line in search.split("\n")) if search else ""
    new = "".join(f"{line}\n" for line in replace.split("\n")) if replace else ""
    return f"{path}\n{'<' * marks} SEARCH\n{middle}{'=' * marks}\n{new}{'>' * marks} REPLACE\n"


ABC = {"a.py": b"one\ntwo\nthree\n", "Makefile": b"all:\n", "my notes.txt": b"note\n"}


@pytest.mark.parametrize(
    "heading",
    [
        "a.py",
        "`a.py`",
        "**a.py**",
        "### a.py",
        "### File: `a.py`",
        "File: a.py",
        "a.py:",
        "./a.py",
        "# a.py",
        "// a.py",
        "1. `a.py`",
        "In `a.py`, change this:",
        "**File:** `a.py`",
    ],
)
def test_a_path_is_found_however_its_line_is_dressed(heading: str) -> None:
    assert edited(block("two", "2", heading), ABC) == {"a.py": b"one\n2\nthree\n"}


@pytest.mark.parametrize("path", ["Makefile", "my notes.txt"])
def test_a_path_that_exists_needs_no_dot_and_may_hold_blanks(path: str) -> None:
    assert edited(f"{path}\n```\nnew\n```\n", ABC) == {path: b"new\n"}


def test_a_block_may_stand_in_a_fence_of_its_own_with_others() -> None:
    reply = f"a.py\n```python\n{block('one', '1').split(chr(10), 1)[1]}\n{block('three', '3')}```\n"
    assert edited(reply, ABC) == {"a.py": b"1\ntwo\n3\n"}


def test_a_path_may_stand_inside_the_fence_above_the_block() -> None:
    assert edited(f"Here:\n```\n{block('two', '2')}```\n", ABC) == {"a.py": b"one\n2\nthree\n"}


def test_a_second_block_belongs_to_the_file_of_the_first() -> None:
    second = block("three", "3").split("\n", 1)[1]
    assert edited(f"{block('one', '1')}\nand then:\n\n{second}", ABC) == {"a.py": b"1\ntwo\n3\n"}


def test_edits_refer_to_the_parent_whatever_their_order() -> None:
    swap = [block("one", "two"), block("two", "one")]
    assert (
        edited("\n".join(swap), ABC) == edited("\n".join(swap[::-1]), ABC) == {"a.py": b"two\none\nthree\n"}
    )


def test_edits_may_share_context_but_not_lines() -> None:
    shared = block("one\ntwo", "1\ntwo") + "\n" + block("two\nthree", "two\n3")
    assert edited(shared, ABC) == {"a.py": b"1\ntwo\n3\n"}
    assert "same lines" in refusal(block("two", "2") + "\n" + block("two\nthree", "zwei\nthree"), ABC)


def test_the_same_block_twice_is_one() -> None:
    assert edited(block("two", "2") * 2, ABC) == {"a.py": b"one\n2\nthree\n"}


def test_an_empty_replacement_deletes_lines() -> None:
    assert edited(block("two", ""), ABC) == {"a.py": b"one\nthree\n"}


def test_an_empty_search_makes_a_new_file_and_nothing_else() -> None:
    assert edited(block("", "new", "b/new.py"), ABC) == {"b/new.py": b"new\n"}
    assert "names no line" in refusal(block("", "new"), ABC)


def test_longer_markers_let_a_block_hold_markers() -> None:
    files = {"a.rst": b"Title\n=======\ntext\n"}
    reply = block("Title\n=======", "Better\n=======", "a.rst", marks=9)
    assert edited(reply, files) == {"a.rst": b"Better\n=======\ntext\n"}
    assert "longer" in refusal(block("Title\n=======", "Better\n=======", "a.rst"), files)


def test_blanks_at_line_ends_do_not_keep_a_block_from_matching_and_stay_in_context() -> None:
    files = {"a.py": b"one  \n\t\ntwo\n"}
    assert edited(block("one\n\ntwo", "one\n\n2"), files) == {"a.py": b"one  \n\t\n2\n"}


@pytest.mark.parametrize(
    "reply",
    [
        "a.py\n<<<<<<< SEARCH\ntwo\n=======\n2\n",
        "a.py\n<<<<<<< SEARCH\ntwo\n>>>>>>> REPLACE\n",
        "a.py\ntwo\n=======\n2\n>>>>>>> REPLACE\n",
        "a.py\n<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE\n<<<<<<< SEARCH\n",
        "a.py\n```python\nwhole\n",
        "a.py\n```\n<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE\n",
        "a.py\n```\nfirst\n```\ninner\n```\nrest\n```\n",
        "a.py\n```diff\n- two\n+ 2\n```\n",
        "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n one\nTWO\n+2\n",
        "```diff\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-one\n+1\ntwo\n+2\n```\n",
        "a.py\n```\n# say\n<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE\n```\n",
    ],
)
def test_what_is_not_whole_is_refused_and_never_used_in_part(reply: str) -> None:
    assert refusal(block("one", "1") + "\n" + reply, ABC)


def test_an_illustration_without_a_path_is_no_edit() -> None:
    reply = "Like this:\n```python\nprint(1)\n```\n" + block("two", "2")
    assert edited(reply, ABC) == {"a.py": b"one\n2\nthree\n"}
    assert "no edit" in refusal("Like this:\n```python\nprint(1)\n```\n", ABC)


def test_thoughts_before_the_answer_are_not_edits() -> None:
    reply = f"<think>\n{block('one', 'no')}</think>\n{block('two', '2')}"
    assert edited(reply, ABC) == {"a.py": b"one\n2\nthree\n"}


def test_prose_is_kept_apart_from_edits() -> None:
    assert parse(f"Why not.\n\n{block('two', '2')}\nDone.\n").prose == "Why not.\n\n\nDone."


@pytest.mark.parametrize("reason", ["length", "max_tokens", "content_filter"])
def test_a_reply_that_was_cut_off_is_refused_even_where_it_looks_whole(reason: str) -> None:
    with pytest.raises(ReplyError, match=r"a\.py: the reply was cut off"):
        parse(block("two", "2"), finish_reason=reason)


DIFF = "--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"


@pytest.mark.parametrize(
    "reply",
    [
        DIFF,
        f"```diff\n{DIFF}```\n",
        f"a.py\n```diff\n{DIFF}```\n",
        f"diff --git a/a.py b/a.py\nindex 123..456 100644\n{DIFF}",
        DIFF.replace("a/a.py", "a.py").replace("b/a.py", "a.py"),
        DIFF.replace("a/a.py", "a/a.py\t2024-01-01 00:00:00"),
        DIFF.replace("@@ -1,3 +1,3 @@", "@@ ... @@"),
        DIFF.replace("-1,3 +1,3", "-900,1 +7,77"),
        f"a.py\n```\n{DIFF[DIFF.index('@@') :]}```\n",
        f"a.py\n```diff\n{DIFF[DIFF.index('@@') :]}```\n",
        DIFF + "\nThat is all.\n",
        DIFF.replace("\n", "\r\n"),
    ],
)
def test_a_diff_is_read_however_it_is_dressed(reply: str) -> None:
    assert edited(reply, ABC) == {"a.py": b"one\n2\nthree\n"}


def test_a_diff_may_make_and_delete_files() -> None:
    made = "--- /dev/null\n+++ b/new.py\n@@ -0,0 +1,2 @@\n+x\n+y\n"
    gone = "--- a/a.py\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-one\n-two\n-three\n"
    assert edited(f"{made}\n{gone}", ABC) == {"new.py": b"x\ny\n", "a.py": None}
    assert "exists already" in refusal(made.replace("new.py", "a.py"), ABC)
    assert "not the file's" in refusal(gone.replace("-two\n", ""), ABC)
    assert "no such file" in refusal(gone.replace("a.py", "b.py"), ABC)


def test_removed_lines_that_look_like_headers_are_lines() -> None:
    files = {"a.sql": b"-- old\nselect 1;\n"}
    reply = "--- a/a.sql\n+++ b/a.sql\n@@ -1,2 +1,2 @@\n--- old\n+-- new\n select 1;\n"
    assert edited(reply, files) == {"a.sql": b"-- new\nselect 1;\n"}


def test_quoted_paths_in_diffs_are_read() -> None:
    files = {"größe.py": b"one\n"}
    quoted = '"a/gr\\303\\266\\303\\237e.py"'
    reply = f"--- {quoted}\n+++ {quoted.replace('a/', 'b/')}\n@@ -1 +1 @@\n-one\n+1\n"
    assert edited(reply, files) == {"größe.py": b"1\n"}


@pytest.mark.parametrize(
    "extended",
    [
        "rename from a.py\nrename to b.py",
        "old mode 100644\nnew mode 100755",
        "new file mode 120000",
        "GIT binary patch",
    ],
)
def test_what_a_diff_cannot_do_here_is_said(extended: str) -> None:
    assert refusal(f"diff --git a/a.py b/a.py\n{extended}\n", ABC)


@pytest.mark.parametrize(
    "path",
    [
        "../a.py",
        "x/../../a.py",
        "/etc/x.py",
        "~/x.py",
        ".git/hooks/x.py",
        "x/.GIT/config",
        "x\\y.py",
        "C:/x.py",
        "x//y.py",
    ],
)
def test_a_path_that_is_not_inside_is_refused(path: str) -> None:
    assert path in refusal(f"{path}\n```\nx\n```\n\n{block('two', '2')}", ABC)


def test_nothing_is_written_through_links_submodules_files_or_over_folders() -> None:
    files = {"a.py": b"x\n", "link": b"elsewhere", "module": b"", "folder/b.py": b"y\n"}
    modes = {"link": 0o120000, "module": 0o160000}
    for path, word in [("link", "link"), ("link/x.py", "link"), ("module/x.py", "submodule")]:
        assert word in refusal(f"{path}\n```\nx\n```\n", files, **modes)
    assert "not a folder" in refusal("a.py/x.py\n```\nx\n```\n", files)
    assert "protected" in refusal("protected/x.py\n```\nx\n```\n", files)
    assert "folder" in refusal("--- /dev/null\n+++ b/folder\n@@ -0,0 +1 @@\n+x\n", files)


def test_every_reason_is_given() -> None:
    reply = block("four", "4") + block("five", "5", "Makefile")
    with pytest.raises(ReplyError) as caught:
        edited(reply, ABC)
    assert [(problem.path, problem.text) for problem in caught.value.problems] == [
        ("a.py", "four"),
        ("Makefile", "five"),
    ]


def test_a_file_is_given_whole_or_in_blocks_but_not_both() -> None:
    assert "choose one" in refusal("a.py\n```\nx\n```\n" + block("two", "2"), ABC)


def test_an_empty_fence_empties_nothing() -> None:
    assert "empty" in refusal("a.py\n```\n```\n", ABC)


def test_bytes_that_are_no_utf8_stay_where_no_block_names_them() -> None:
    files = {"a.py": b"# gr\xf6\xdfe\ntwo\n"}
    assert edited(block("two", "2"), files) == {"a.py": b"# gr\xf6\xdfe\n2\n"}


def test_a_byte_order_mark_stays() -> None:
    files = {"a.py": b"\xef\xbb\xbfone\ntwo\n"}
    assert edited(block("one", "1"), files) == {"a.py": b"\xef\xbb\xbf1\ntwo\n"}
    assert edited("a.py\n```\nnew\n```\n", files) == {"a.py": b"\xef\xbb\xbfnew\n"}


def test_mixed_line_ends_stay_as_they_are() -> None:
    files = {"a.py": b"one\r\ntwo\nthree\r\nfour"}
    assert edited(block("two\nthree", "2\nthree"), files) == {"a.py": b"one\r\n2\r\nthree\r\nfour"}
    assert edited("a.py\n```\none\ntwo\n3\nfour\n```\n", files) == {"a.py": b"one\r\ntwo\n3\nfour\r\n"}


def test_a_new_file_is_what_stands_between_the_fences() -> None:
    assert edited("new.bat\n```\none\r\ntwo\r\n```\n", ABC) == {"new.bat": b"one\r\ntwo\r\n"}


def test_separators_other_than_newlines_end_no_line() -> None:
    files = {"a.py": "a\x0cb\u2028c\nd\n".encode()}
    assert edited(block("d", "D"), files) == {"a.py": "a\x0cb\u2028c\nD\n".encode()}


def test_a_binary_file_cannot_be_edited() -> None:
    assert "not a text file" in refusal(block("two", "2"), {"a.py": b"\0\ntwo\n"})


def test_half_a_surrogate_is_refused() -> None:
    assert "Unicode" in refusal(block("two", "\ud800"), ABC)


LINES = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\n\r\0"), max_size=8), min_size=1, max_size=12
)


@given(LINES, LINES, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_a_whole_file_comes_back_as_it_was_given(
    before: list[str], after: list[str], end: str, ended: bool
) -> None:
    old = (end.join(before) + (end if ended else "")).encode()
    changes = edited_or_none([Whole("a.py", tuple(after))], old)
    if changes is None:
        return
    windows = ended and end == "\r\n"
    text = (changes["a.py"] or b"").decode().removeprefix("\ufeff")
    assert text.replace("\r\n", "\n").split("\n")[: len(after)] == [
        line.removeprefix("\ufeff") for line in after
    ]
    assert not windows or text.count("\n") == text.count("\r\n")


def edited_or_none(edits: list[Whole | Delete], old: bytes) -> dict[str, bytes | None] | None:
    source = Source(Files({"a.py": old}), lambda path: True)  # type: ignore[arg-type]
    try:
        return apply(edits, source, "tree")
    except ReplyError:
        return None


@given(LINES, st.data())
def test_a_block_changes_its_line_and_no_other(lines: list[str], data: st.DataObject) -> None:
    lines = list(dict.fromkeys(line.rstrip() for line in lines))
    index = data.draw(st.integers(0, len(lines) - 1))
    if lines[0].startswith("\ufeff"):
        return
    content = "".join(f"{line}\r\n" for line in lines).encode()
    reply = f"a.py\n<<<<<<<<<<<<< SEARCH\n{lines[index]}\n=============\nNEW LINE\n>>>>>>>>>>>>> REPLACE\n"
    lines[index] = "NEW LINE"
    assert edited(reply, {"a.py": content}) == {"a.py": "".join(f"{line}\r\n" for line in lines).encode()}


@given(st.text(st.sampled_from("`~ \n<>=+-@#a./\rSEARCHREPLACE"), max_size=300))
def test_no_reply_breaks_the_reader(reply: str) -> None:
    try:
        edits = parse(reply).edits
    except ReplyError:
        return
    assert edits


PIECES = st.lists(
    st.sampled_from(
        [
            "```",
            "````",
            "```diff",
            "a.py",
            "<<<<<<< SEARCH",
            "=======",
            ">>>>>>> REPLACE",
            "--- a/a.py",
            "+++ b/a.py",
            *(
                "@@ -1 +1 @@",
                " one",
                "-one",
                "+1",
                "one",
                "",
                "diff --git a/a.py b/a.py",
                "--- /dev/null",
                "~~~",
            ),
        ]
    ),
    max_size=20,
)


@given(PIECES)
def test_no_order_of_markers_breaks_the_reader_or_leads_to_another_file(pieces: list[str]) -> None:
    try:
        changes = edited("\n".join(pieces), ABC)
    except ReplyError:
        return
    assert changes
    assert set(changes) <= {"a.py"}
