"""The error family. The native module makes these and fills in the fields."""

from __future__ import annotations


class RateLimitError(Exception):
    """Base of what a limiter raises about a call.

    Every field is there on every error, and ``None`` where nothing is known,
    so that ``except RateLimitError as error: error.retry_after`` works.
    """

    retry_after: float | None = None
    """Seconds that the server asked to wait; ``None`` if it asked nothing."""
    limit_name: str | None = None
    """The option or argument that left no room."""
    limit_value: float | None = None
    """That option's value in seconds, where it is a duration."""
    available_in: float | None = None
    """Seconds until a call could be sent again, as far as known."""
    scope: str | None = None
    """Who is limited: origin, and the credential as an ordinal."""
    meter: str | None = None
    """The quota concerned, if the server named one."""
    status: int | None = None
    """The status of the last refusal, if the call was refused."""
    limit: float | None = None
    """The limit that the server stated."""
    hint: str | None = None
    """The sentence for people that the server sent."""
    attempts: int | None = None
    """How often the call was sent."""
    response: object = None
    """The last refused response, where a driver of this package holds it.
    Neither pickled nor copied: it may own a connection."""

    def __reduce__(self) -> tuple[object, ...]:
        state = {name: value for name, value in self.__dict__.items() if name not in ("response", "_request")}
        return type(self), self.args, state


class RateLimitExceeded(RateLimitError):
    """A cap, budget, attempt limit or deadline (``limit_name``) leaves no room
    for the wait that is due. Nothing more was sent."""


class PermanentlyRefused(RateLimitError):
    """The server refused for good (billing, plan, ban): retrying is pointless."""


class LimiterClosed(RateLimitError):
    """The limiter was closed while the call waited, or before it began."""


class UsageError(RateLimitError):
    """A call was driven out of turn; nothing was changed."""


class ConfigError(ValueError):
    """An option or argument is wrong."""

    option: str = ""
    """Its name; nested ones with a dot (``backoff.base``)."""
    problem: str = ""
    """What is wrong, and what it takes."""

    @classmethod
    def about(cls, option: str, problem: str) -> ConfigError:
        """An error of that text about that option."""
        error = cls(f"option {option} {problem}")
        error.option, error.problem = option, problem
        return error
