"""What is sent of a tree is what the receiver lacks, and it arrives as it was."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from git_samples import FILES, make_store
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from archives.checkouts import Slot
from archives.errors import StoreError
from archives.shipping import Shipping, receive, receive_base
from archives.store import Store

PATHS = st.sampled_from([*FILES, "new.txt", "src/deep/more.py", "other/place/x.bin"])
CHANGES = st.dictionaries(PATHS, st.none() | st.binary(max_size=40), max_size=4)


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, str, Shipping, Store]:
    folder = tmp_path_factory.mktemp("sent")
    store, base = make_store(folder)
    shipping = Shipping(store, base)
    return store, base, shipping, receive_base(folder / "there", shipping.base())


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(CHANGES)
def test_any_change_arrives_as_it_was(
    sent: tuple[Store, str, Shipping, Store], changes: Mapping[str, bytes | None]
) -> None:
    store, base, shipping, there = sent
    tree = store.write_tree(base, changes)
    receive(there, shipping.cargo(tree), tree)
    with tempfile.TemporaryDirectory() as folder:
        Slot(there, Path(folder) / "checkout").move_to(tree)
        for entry in store.files(tree):
            found = Path(folder) / "checkout" / entry.path
            if entry.mode == 0o120000:
                assert str(found.readlink()).encode() == store.blob(entry.oid)
            else:
                assert found.read_bytes() == store.blob(entry.oid)
                assert bool(found.stat().st_mode & 0o100) == (entry.mode == 0o100755)
    assert there.files(tree) == store.files(tree)


def test_only_what_the_base_lacks_is_sent(sent: tuple[Store, str, Shipping, Store]) -> None:
    store, base, shipping, _ = sent
    assert shipping.cargo(store.tree_of(base)) == []
    tree = store.write_tree(base, {"src/deep/tool.py": b"X = 9\n"})
    cargo = shipping.cargo(tree)
    assert [data for is_folder, data in cargo if not is_folder] == [b"X = 9\n"]
    assert sum(is_folder for is_folder, _ in cargo) == 3  # the root, src and src/deep


def test_a_tree_that_was_damaged_on_the_way_is_refused(sent: tuple[Store, str, Shipping, Store]) -> None:
    store, base, shipping, there = sent
    tree = store.write_tree(base, {"value.txt": b"damaged\n"})
    cargo = [(is_folder, data + b"?" if is_folder else data) for is_folder, data in shipping.cargo(tree)]
    with pytest.raises(StoreError):
        receive(there, cargo, tree)
