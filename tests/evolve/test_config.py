from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.errors import ConfigError
from evolve.config import Config, load, parse
from evolve.globs import matcher

NEEDED = '[artifact]\ninclude = ["a.py"]\n[evaluator]\ncommand = "python evaluate.py"\n'


def wrong(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse(tomllib.loads(text), "evolve.toml")
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (NEEDED + "[budget]\nevaluatons = 20\n", ["budget.evaluatons", "20", "evaluations"]),
        (NEEDED + "[budgte]\n", ["budgte", "budget"]),
        (NEEDED + 'timeout = "2 parsecs"\n', ["evaluator.timeout", "2 parsecs", "90s"]),
        (NEEDED + "timeout = inf\n", ["evaluator.timeout", "finite", "inf"]),
        (NEEDED + 'direction = "minimise"\n', ["evaluator.direction", "minimise", "minimize"]),
        (NEEDED + 'memory = "lots"\n', ["evaluator.memory", "lots", "2GiB"]),
        (NEEDED + 'function = "evaluate.py:evaluate"\n', ["evaluator", "exactly one"]),
        (NEEDED + "[workers]\npropose = 0\n", ["workers.propose", "0", "'auto'"]),
        (NEEDED + '[models]\npool = ["m"]\n', ["models.pool.0", "table", "model", "'m'"]),
        (
            NEEDED.replace('command = "python evaluate.py"', 'function = "evaluate"'),
            ["evaluator.function", "'evaluate'", "evaluate.py:evaluate"],
        ),
        (NEEDED + '[models]\npool = "m"\n', ["models.pool", "list", "[{model = …}]", "'m'"]),
        (
            NEEDED.replace('command = "python evaluate.py"', 'benchmark = "bench:work"'),
            ["evaluator", "benchmark", "bench.py:work", "not bench:work"],
        ),
        (NEEDED + "[budget]\nusd = 2\n", ["budget", "usd", "[models]", "proposals = 200"]),
        (NEEDED + '[budget]\nproposals = "3"\n', ["budget.proposals", "'3'"]),
        (NEEDED + '[models]\npool = [{ model = "m", weigth = 2 }]\n', ["models.pool.0.weigth", "weight"]),
        (
            NEEDED + '[models]\npool = [{ model = "m", api_base = "/v1" }]\n',
            ["models.pool.0.api_base", "http://HOST"],
        ),
        (NEEDED + "[operators]\npatches = {}\n", ["operators.patches", "folder"]),
        (NEEDED + '[search]\npolicy = "greedy"\n', ["search.policy", "greedy"]),
        ('[evaluator]\ncommand = "x"\n', ["artifact", "missing"]),
        ('[artifact]\ninclude = []\n[evaluator]\ncommand = "x"\n', ["artifact.include"]),
        ('[artifact]\ninclude = "a.py"\n[evaluator]\ncommand = "x"\n', ["artifact.include", "'a.py'"]),
    ],
)
def test_a_mistake_is_one_line_naming_key_value_and_what_was_meant(text: str, words: list[str]) -> None:
    message = wrong(text)
    assert all(word in message for word in ["evolve.toml", *words]), message


def test_a_missing_or_broken_file_says_what_to_do(tmp_path) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ConfigError, match="evolve init"):
        load(tmp_path / "evolve.toml")
    (tmp_path / "evolve.toml").write_text("[campaign\n")
    with pytest.raises(ConfigError, match="not valid TOML"):
        load(tmp_path / "evolve.toml")


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("10m", 600), ("2h", 7200), ("250ms", 0.25), (1.5, 1.5), (3, 3)]
)
def test_times_are_seconds_or_words(text: object, seconds: float) -> None:
    config = parse({"artifact": {"include": ["a"]}, "evaluator": {"command": "x", "timeout": text}})
    assert config.evaluator.timeout == seconds


def test_without_limits_a_campaign_still_ends() -> None:
    assert parse(tomllib.loads(NEEDED)).budget.limits() == {"proposals": 200}


def test_a_configuration_survives_the_journal() -> None:
    text = NEEDED + '[holdout]\ncases = ["h"]\n[promotion]\nrange = [0, 1]\n[operators]\ntune = 2\n'
    config = parse(tomllib.loads(text))
    kept = config.model_dump(mode="json", exclude_unset=True)
    assert Config.model_validate(kept) == config
    assert "alpha" not in kept["promotion"], "a default of today is no choice of the user's"


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("a.py", "a.py", True),
        ("a.py", "b/a.py", False),
        ("*.py", "b/a.py", False),
        ("**/*.py", "a.py", True),
        ("**/*.py", "x/y/a.py", True),
        ("src/**", "src/x/y", True),
        ("src/", "src/x/y", True),
        ("src dir/*.py", "src dir/größe berechnen.py", True),
        ("a[0-9].py", "a7.py", True),
        ("a[!0-9].py", "a7.py", False),
        ("a?.py", "a/.py", False),
        ("a.py", "a_py", False),
    ],
)
def test_globs_match_as_people_expect(pattern: str, path: str, matches: bool) -> None:
    assert matcher([pattern])(path) is matches
    assert matcher([pattern], "deep/")(f"deep/{path}") is matches
    assert not matcher([pattern], "deep/")(path)


@given(st.text(min_size=1))
def test_any_text_is_a_glob(pattern: str) -> None:
    assert matcher([pattern])("some/path.py") in (True, False)


def test_dollars_alone_are_a_limit_where_an_operator_that_asks_models_is_named() -> None:
    text = NEEDED + "[budget]\nusd = 2\n[operators]\nedit = 1\n"
    assert parse(tomllib.loads(text), "evolve.toml").budget.limits() == {"usd": 2}
