from pathlib import Path

from evolve.config import Config
from evolve.reference import page
from evolve.tables.base import Table

DOCS = Path(__file__).parents[2] / "docs"


def test_the_configuration_page_is_the_one_the_models_give() -> None:
    assert (DOCS / "configuration.md").read_text(encoding="utf-8") == page()


def test_every_key_says_what_it_means() -> None:
    pending: list[type[Table]] = [Config]
    while pending:
        table = pending.pop()
        for name, field in table.model_fields.items():
            inner = field.annotation
            if isinstance(inner, type) and issubclass(inner, Table):
                pending.append(inner)
            else:
                assert field.description, f"{table.__name__}.{name}"
