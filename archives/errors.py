"""The errors a user can meet. Each message is one line: what is wrong, where, what to do.

EvolveError
├── ConfigError        evolve.toml or the command line is wrong            (exit 2)
├── RepositoryError    the target repository cannot be used as it is       (exit 1)
├── StoreError         the campaign's Git store refused something          (exit 1)
├── JournalError       the campaign's database refused something           (exit 1)
├── EvaluatorError     the evaluator cannot be started or was changed      (exit 1)
├── ModelError         no model answers                                    (exit 1)
└── CampaignBusy       another orchestrator owns the campaign              (exit 3)
"""


class EvolveError(Exception):
    """Root of every error that is shown to the user as one line, without a traceback."""

    exit_code = 1


class ConfigError(EvolveError):
    """The configuration or the command line is wrong."""

    exit_code = 2


class RepositoryError(EvolveError):
    """The target repository cannot be used as it is."""


class StoreError(EvolveError):
    """The campaign's Git store refused something."""


class JournalError(EvolveError):
    """The campaign's database refused something."""


class EvaluatorError(EvolveError):
    """The evaluator cannot be started, or its pinned files were changed."""


class ModelError(EvolveError):
    """No model answers, or a reply cannot be used."""


class CampaignBusy(EvolveError):
    """Another orchestrator owns the campaign."""

    exit_code = 3
