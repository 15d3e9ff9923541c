"""Holds every call of a client when the server says stop, and releases them
so that the limit is not tripped again.

    import httpx, rampmeter
    from rampmeter.httpx import protect

    client = protect(httpx.Client())

or, around any function that returns or raises a response:

    limiter = rampmeter.Limiter()
    response = limiter.run(lambda: session.get(url), method="GET", url=url)

Durations are seconds, or ``timedelta``; ``None`` means no limit or "the server
did not say", zero means zero.
"""

from rampmeter._core import (
    Answer,
    BucketRegistry,
    Call,
    Config,
    Decision,
    Event,
    Ignored,
    Meter,
    Reading,
    Refusal,
    ScopeStats,
    Signals,
    Stats,
    TokenBucket,
    __version__,
    decorrelated_jitter,
    equal_jitter,
    full_jitter,
    parse_retry_after,
    read_signals,
)
from rampmeter._errors import (
    ConfigError,
    LimiterClosed,
    PermanentlyRefused,
    RateLimitError,
    RateLimitExceeded,
    UsageError,
)
from rampmeter._limiter import Limiter
from rampmeter._run import acall_with_retry, call_with_retry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rampmeter._clock import ManualClock

__all__ = [
    "Answer",
    "BucketRegistry",
    "Call",
    "Config",
    "ConfigError",
    "Decision",
    "Event",
    "Ignored",
    "Limiter",
    "LimiterClosed",
    "ManualClock",
    "Meter",
    "PermanentlyRefused",
    "RateLimitError",
    "RateLimitExceeded",
    "Reading",
    "Refusal",
    "ScopeStats",
    "Signals",
    "Stats",
    "TokenBucket",
    "UsageError",
    "__version__",
    "acall_with_retry",
    "call_with_retry",
    "decorrelated_jitter",
    "equal_jitter",
    "full_jitter",
    "parse_retry_after",
    "read_signals",
]


def __getattr__(name: str) -> object:
    # Only tests want it, and it brings modules that a program may never need.
    if name == "ManualClock":
        from rampmeter._clock import ManualClock

        return ManualClock
    raise AttributeError(f"module 'rampmeter' has no attribute {name!r}")
