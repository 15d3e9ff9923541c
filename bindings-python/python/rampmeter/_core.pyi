"""The native module. Import its names from ``rampmeter``."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, final

from typing_extensions import Self, Unpack, disjoint_base

from rampmeter.types import (
    AnswerForm,
    Clock,
    DecisionKind,
    Duration,
    EventKind,
    FailureKind,
    HeadersLike,
    Options,
    Period,
    Reason,
    RefusalKind,
    WaitSource,
    When,
)

__all__ = [
    "LOCAL_REFUSAL_HEADER",
    "LOCAL_REFUSAL_STATUS",
    "Answer",
    "BucketRegistry",
    "Call",
    "Config",
    "Decision",
    "Event",
    "Ignored",
    "Limiter",
    "Meter",
    "Reading",
    "Refusal",
    "ScopeStats",
    "Signals",
    "Stats",
    "TokenBucket",
    "__version__",
    "_reseed_jitter",
    "audit",
    "decorrelated_jitter",
    "equal_jitter",
    "explain",
    "full_jitter",
    "names",
    "options_json",
    "parse_retry_after",
    "read_signals",
]

LOCAL_REFUSAL_HEADER: str
LOCAL_REFUSAL_STATUS: int
__version__: str

@disjoint_base
class Limiter:
    """The native half of ``rampmeter.Limiter``."""

    def __new__(
        cls,
        config: Config | Mapping[str, Any] | None = None,
        *,
        on_event: Callable[[Event], object] | None = None,
        clock: Clock | None = None,
        **options: Unpack[Options],
    ) -> Self: ...
    def begin(
        self,
        method: str,
        url: object = None,
        *,
        headers: HeadersLike | None = None,
        scope: str | None = None,
        route: str | None = None,
        cost: Mapping[str, float] | None = None,
        priority: int = 0,
        deadline: Duration | None = None,
        retry: bool | None = None,
        replayable: bool = True,
        nested: bool = False,
    ) -> Call:
        """Begins a call: one logical request, over all its attempts.

        Nothing is waited for and nothing reserved until it is polled. ``scope``
        and ``route`` name who is limited and what the server meters alike,
        instead of the URL's origin with the credential in ``headers``, and
        method with path. ``cost`` is amounts by unit. Larger ``priority`` goes
        first. ``deadline`` is seconds from now. ``retry`` says whether it may be
        sent again after a failure that leaves open whether it was processed;
        by default the method and an ``Idempotency-Key`` say so. ``replayable``
        is false for a body that can be sent only once, ``nested`` true for a
        call made inside a call of the same limiter.

        Raises ``ConfigError`` for an argument that cannot be.
        """

    def close(self) -> None:
        """Ends the limiter: waiting calls raise ``LimiterClosed`` at once, later
        ones at their first poll."""

    @property
    def closed(self) -> bool:
        """True once ``close`` was called."""

    @property
    def config(self) -> Config:
        """Its options."""

    @property
    def clock(self) -> Any:
        """The clock that it was given; ``None`` for the system's."""

    def stats(self) -> Stats:
        """Counters so far."""

    def scopes(self) -> list[str]:
        """The scopes that are known, as they may be shown."""

    def meters(self, scope: object = None) -> list[Meter]:
        """The meters of the scope of that URL or label; of all scopes if none is
        given."""

    def listen(self, listening: bool = True) -> None:
        """Starts or stops the collection of events for ``take_events``."""

    def take_events(self) -> list[Event]:
        """The events since the last time, oldest first; empty unless ``listen``
        was called, and where ``on_event`` takes them."""

    def take_wakes(self) -> list[int]:
        """The ``id`` of each call without a waker that should be polled now."""

    def _after_fork(self, seed: int) -> None: ...
    def _empty_meter(self, scope: str) -> Meter: ...

@final
class Call:
    """One logical request, over all its attempts. Dropping it gives it up.

    In a ``with`` block it is finished at the end if its response was
    delivered, else given up.
    """

    def poll(self, wake: Callable[[], object] | None = None) -> Decision:
        """What now? Asking twice at one instant gives the same answer.

        If the answer is to sleep, ``wake`` is called once polling again is
        worthwhile before the sleep's end: from any thread, so it must only wake.
        """

    def wants_body(self, status: int, headers: HeadersLike | None = None) -> int:
        """How many bytes of this response's body are worth reading; 0 for nearly
        every response."""

    def on_response(
        self,
        status: int,
        headers: HeadersLike | None = None,
        body: bytes | bytearray | str | None = None,
        *,
        cached: bool = False,
        url: str | None = None,
    ) -> Decision:
        """Reports the response to the last send.

        ``cached`` is true if a client-side cache answered; ``url`` is the URL
        that answered, where a redirect led elsewhere.
        """

    def _on_head(self, status: int, headers: HeadersLike | None, cached: bool = False) -> Decision | int: ...
    def on_failure(self, kind: FailureKind = "other") -> Decision:
        """Reports that the last send ended without a response."""

    def settle(self, cost: Mapping[str, float]) -> None:
        """Replaces the cost by the real amounts, once known."""

    def finish(self) -> None:
        """The body is read or closed: the slot in flight is free."""

    def cancel(self) -> None:
        """Gives the call up, at any point. Safe to repeat."""

    @property
    def attempts(self) -> int:
        """How often it was sent."""

    @property
    def waited(self) -> float:
        """Seconds that it slept so far, as elapsed time."""

    @property
    def id(self) -> int:
        """Its id, as ``Limiter.take_wakes`` lists it."""

    @property
    def over(self) -> bool:
        """True once it was finished or given up."""

    @property
    def limiter(self) -> Limiter:
        """Whose call it is."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_exception: object) -> None: ...
    def __aenter__(self) -> Awaitable[Self]: ...
    def __aexit__(self, *exception: object) -> Awaitable[None]: ...

@final
class Decision:
    """What to do now: ``send``, ``sleep``, ``deliver`` or ``raise``."""

    def __new__(
        cls,
        kind: DecisionKind,
        seconds: float | None = None,
        reason: Reason = "ready",
        error: BaseException | None = None,
    ) -> Self: ...
    @property
    def kind(self) -> DecisionKind:
        """``send``: perform the request. ``sleep``: sleep, then poll again.
        ``deliver``: hand the response or the failure to the caller. ``raise``:
        raise ``error``."""

    @property
    def seconds(self) -> float | None:
        """How long to sleep at most; above 0 and finite, ``None`` unless the
        decision is to sleep."""

    @property
    def reason(self) -> Reason:
        """Why."""

    @property
    def error(self) -> BaseException | None:
        """What to raise; ``None`` unless the decision is to raise."""

    __match_args__ = ("kind", "seconds", "reason", "error")
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Config:
    """Checked options; immutable.

    Raises ``ConfigError``, which names the option, for an unknown one, for a
    value that it does not take, and for two given ones that conflict.

        >>> from rampmeter import Config
        >>> Config(max_retry_after=30).max_retry_after
        30
        >>> Config.web(max_attempts=3)
        Config.web(max_attempts=3)
    """

    def __new__(cls, **options: Unpack[Options]) -> Self: ...
    @staticmethod
    def web(**options: Unpack[Options]) -> Config:
        """For request handlers: short waits, then an error that a handler can
        turn into its own refusal."""

    @staticmethod
    def background(**options: Unpack[Options]) -> Config:
        """For queues and batch senders: patient."""

    def replace(self, **options: Unpack[Options]) -> Config:
        """The same with other values for these options."""

    def is_given(self, option: str) -> bool:
        """True if the option was set by name, rather than by default or preset."""

    def __getattr__(self, name: str, /) -> Any:
        """The value of an option: durations in seconds, ``None`` for no limit."""

    def __dir__(self) -> list[str]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    @staticmethod
    def _restore(preset: str, given: Mapping[str, Any]) -> Config: ...

@final
class Meter:
    """What the server last said about one quota; ``None`` where it did not say."""

    @property
    def scope(self) -> str:
        """The scope that it belongs to."""

    @property
    def name(self) -> str | None:
        """The quota's name; ``None`` for an unnamed one."""

    @property
    def route(self) -> str | None:
        """The route that it was learned for, where several unnamed ones differ."""

    @property
    def limit(self) -> float | None:
        """How much the quota allows in one window."""

    @property
    def remaining(self) -> float | None:
        """How much is left, by the server's own word."""

    @property
    def window(self) -> float | None:
        """The window's length in seconds."""

    @property
    def unit(self) -> str | None:
        """What is counted."""

    @property
    def policy(self) -> str | None:
        """The policy's name, where it is another than the quota's."""

    @property
    def exhausted(self) -> bool:
        """True only if the server said that nothing is left."""

    def seconds_until_reset(self) -> float | None:
        """Seconds until more is available, computed now; 0 once it has passed."""

@final
class Event:
    """One thing that happened. It carries no value that may hold a secret."""

    @property
    def kind(self) -> EventKind:
        """What happened."""

    @property
    def at(self) -> float:
        """When, in seconds of ``time.monotonic()`` or of the limiter's clock."""

    @property
    def scope(self) -> str:
        """The scope, as it may be shown."""

    @property
    def method(self) -> str | None:
        """The request's method, if a call is concerned."""

    @property
    def route(self) -> str | None:
        """The request's route, if a call is concerned."""

    @property
    def meter(self) -> str | None:
        """The meter, if one is concerned."""

    @property
    def seconds(self) -> float | None:
        """The wait, hold or time to a reset."""

    @property
    def reason(self) -> Reason | None:
        """Why."""

    @property
    def attempt(self) -> int | None:
        """How often the call was sent, if one is concerned."""

    @property
    def status(self) -> int | None:
        """The status, for ``refused``."""

    @property
    def waiting(self) -> int:
        """How many calls wait in the scope."""

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """For ``refused``: the rate-limit headers that it was read from."""

    @property
    def detail(self) -> str | None:
        """More in words: for ``ignored``, the field and why."""

@final
class ScopeStats:
    """What one scope did so far."""

    @property
    def scope(self) -> str:
        """The scope, as it may be shown; empty for the total."""

    @property
    def sent(self) -> int:
        """Requests sent."""

    @property
    def refused(self) -> int:
        """Responses that were refusals."""

    @property
    def accepted(self) -> int:
        """Responses that were no refusals."""

    @property
    def failed(self) -> int:
        """Requests that failed without a response."""

    @property
    def waits(self) -> int:
        """Waits begun."""

    @property
    def slept(self) -> float:
        """The sum of all waits in seconds, as elapsed time."""

    @property
    def raised(self) -> int:
        """Calls that ended with an error of the limiter's."""

    @property
    def ignored(self) -> int:
        """Signals set aside as unusable."""

    @property
    def waiting(self) -> int:
        """Calls that wait now."""

    @property
    def in_flight(self) -> int:
        """Requests in flight now."""

    @property
    def held_for(self) -> float | None:
        """Seconds that the scope's gate is still held."""

@final
class Stats:
    """What a limiter did so far."""

    @property
    def total(self) -> ScopeStats:
        """The sum over all scopes, forgotten ones included."""

    @property
    def scopes(self) -> tuple[ScopeStats, ...]:
        """Each scope that is still known."""

    @property
    def dropped_events(self) -> int:
        """Events that were dropped because nobody took them."""

@final
class Signals:
    """Everything that one response says about limits; ``None`` where it says
    nothing."""

    @property
    def meters(self) -> tuple[Reading, ...]:
        """The quotas that it describes, in the order first mentioned."""

    @property
    def wait(self) -> float | None:
        """The explicit wait that it orders, in seconds."""

    @property
    def wait_source(self) -> WaitSource | None:
        """Where that stood."""

    @property
    def refusal(self) -> Refusal | None:
        """What it refuses, if it is a refusal."""

    @property
    def age(self) -> float | None:
        """Seconds that the response spent in a cache."""

    @property
    def date(self) -> float | None:
        """The server's clock in Unix seconds."""

    @property
    def ignored(self) -> tuple[Ignored, ...]:
        """Fields that were set aside, and why."""

@final
class Reading:
    """What one response says about one quota."""

    @property
    def name(self) -> str | None:
        """The quota's name, if the response names it."""

    @property
    def limit(self) -> float | None:
        """How much the quota allows in one window."""

    @property
    def remaining(self) -> float | None:
        """How much is left."""

    @property
    def reset(self) -> float | None:
        """Seconds until more is available, from reception."""

    @property
    def window(self) -> float | None:
        """The window's length in seconds."""

    @property
    def unit(self) -> str | None:
        """What is counted."""

    @property
    def policy(self) -> str | None:
        """The policy's name, where it is another than the quota's."""

    @property
    def informative(self) -> bool:
        """True if the server says that this quota refuses nobody."""

@final
class Refusal:
    """What a response refuses; and, for servers, what makes such responses."""

    @property
    def kind(self) -> RefusalKind:
        """What it asks of the client."""

    @property
    def meter(self) -> str | None:
        """The quota that it says is exceeded, if it names one."""

    @property
    def limit(self) -> float | None:
        """The limit that it states."""

    @property
    def hint(self) -> str | None:
        """The sentence for people that the server sent."""

    @property
    def first_wait(self) -> float | None:
        """The shortest first wait in seconds that the server's documentation
        asks where the response gives none."""

    @staticmethod
    def windowed(
        seconds: Duration | None = None,
        *,
        until: When | None = None,
        until_next: Period | Duration | None = None,
        now: When | None = None,
        limit: int | None = None,
        remaining: int | None = None,
        window_seconds: Duration | None = None,
        unit: str | None = None,
        policy: str | Sequence[str] | None = None,
        hint: str | None = None,
        abnormal: bool | None = None,
        exposed: bool | None = None,
    ) -> Answer:
        """Answers that a quota is used up until a moment: in so many ``seconds``,
        at the instant ``until``, or at the boundary at which the period
        ``until_next`` ends: ``minute``, ``hour``, ``day``, ``week`` (on
        Monday), ``month``, all in UTC, or multiples of that many seconds.
        Exactly one of the three is given. Waits are rounded up to whole
        seconds, at least 1. ``now`` is the wall clock that they are reckoned
        from, by default the system's. The status is 429.

        ``limit`` is how much the quota allows in a window of
        ``window_seconds``, counted in ``unit``; ``remaining`` is what is left
        of it, 0 unless given. ``policy`` is its name, or a list of the names
        of all that are exceeded, at most 128 printable ASCII characters each:
        clients hold only what it meters, and with a limit the ``RateLimit``
        fields are sent. ``hint`` is a sentence for people. ``abnormal`` says
        that the usage was out of the ordinary, rather than a quota.
        ``exposed`` sends ``Access-Control-Expose-Headers``, for browsers.

            >>> from rampmeter import Refusal
            >>> answer = Refusal.windowed(29.2, limit=100, policy="minute")
            >>> answer.headers["Retry-After"], answer.json()["retryAfter"]
            ('30', 30)

        Raises ``ConfigError`` that names the argument that cannot be.
        """

    @staticmethod
    def capacity(
        limit: int | None = None,
        *,
        suggested_seconds: Duration | None = None,
        status: Literal[429, 503] | None = None,
        policy: str | Sequence[str] | None = None,
        hint: str | None = None,
        exposed: bool | None = None,
    ) -> Answer:
        """Answers that there is no room now. Nobody knows when there will be, so
        no wait is stated; ``suggested_seconds`` is one that is marked as a
        suggestion. ``limit`` is how many requests may run at a time.
        ``status`` is 429, or 503 where the server is full whoever asks. The
        others are as for ``windowed``.

            >>> from rampmeter import Refusal
            >>> Refusal.capacity(4).json()["retry"], "Retry-After" in Refusal.capacity(4).headers
            (True, False)
        """

    @staticmethod
    def permanent(
        hint: str | None = None,
        *,
        limit: int | None = None,
        status: Literal[429, 403] | None = None,
        policy: str | Sequence[str] | None = None,
        abnormal: bool | None = None,
        exposed: bool | None = None,
    ) -> Answer:
        """Answers that coming back is pointless; ``hint`` should say why.
        ``status`` is 429, or 403, which clients that read nothing else do not
        repeat. The others are as for ``windowed``.

            >>> from rampmeter import Refusal
            >>> Refusal.permanent("no credit is left").json()["retry"]
            False
        """

@final
class Answer:
    """A refusal as a server writes it, made by ``Refusal.windowed``,
    ``Refusal.capacity`` and ``Refusal.permanent``.

    Header fields and every form of body say the same.
    """

    @property
    def kind(self) -> RefusalKind:
        """What it declares: ``windowed``, ``capacity`` or ``permanent``."""

    @property
    def status(self) -> int:
        """The status code."""

    @property
    def seconds(self) -> int | None:
        """The wait in whole seconds that it states; for capacity, the suggested
        one."""

    @property
    def limit(self) -> int | None:
        """The limit that it states."""

    @property
    def hint(self) -> str:
        """The sentence for people: a general one unless it was given."""

    @property
    def policies(self) -> tuple[str, ...]:
        """The names of the policies that it says are exceeded."""

    @property
    def headers(self) -> dict[str, str]:
        """The header fields that go with every form of body, ``Content-Type``
        excepted."""

    def json(self) -> dict[str, Any]:
        """The body as an object that can be laid into a response of the server's
        own form: whole, or as its member ``error`` or ``detail``."""

    def problem(self) -> dict[str, Any]:
        """The body as problem details (RFC 9457)."""

    def json_rpc(self, id: str | float | None = None) -> dict[str, Any]:
        """The body as the response to the JSON-RPC 2.0 request with that ``id``."""

    def render(
        self, form: AnswerForm | None = None, *, id: str | float | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """The whole response: status, header fields with ``Content-Type``, and
        body. ``form`` is ``json`` unless given; ``id`` is the request's, for
        ``json-rpc``.

        Raises ``ConfigError`` for a form or id that cannot be.
        """

@final
class Ignored:
    """A field that was set aside."""

    @property
    def field(self) -> str:
        """The field's name, in lower case."""

    @property
    def why(self) -> str:
        """Why it was set aside."""

@final
class TokenBucket:
    """``rate`` tokens per second, at most ``burst`` at once; it starts full.

        >>> from rampmeter import TokenBucket
        >>> bucket = TokenBucket(rate=5, burst=2)
        >>> bucket.take(), bucket.take(), bucket.take()
        (True, True, False)

    Raises ``ConfigError`` unless ``rate`` is above 0 and ``burst`` at least 1.
    """

    def __new__(cls, rate: float, burst: float = 1.0, *, clock: Clock | None = None) -> Self: ...
    @property
    def rate(self) -> float:
        """Tokens per second."""

    @property
    def burst(self) -> float:
        """The most tokens at once."""

    def available(self) -> float:
        """The tokens now."""

    def take(self, cost: float = 1.0) -> bool:
        """Takes that many tokens if they are there; else changes nothing."""

    def wait(self, cost: float = 1.0) -> float | None:
        """Seconds until that many tokens are there; ``None`` if they never will
        be."""

    def charge(self, cost: float = 1.0) -> None:
        """Takes that many tokens whether or not they are there; later takers
        wait the debt off. Negative amounts give tokens back."""

@final
class BucketRegistry:
    """One token bucket per quota key, made on first use.

    At most ``capacity`` keys are remembered beyond those whose bucket is not
    full: a full bucket is no different from a new one.
    """

    def __new__(cls, rate: float, burst: float = 1.0, *, capacity: int = 1024, clock: Clock | None = None) -> Self: ...
    def available(self, key: str) -> float:
        """The tokens now."""

    def take(self, key: str, cost: float = 1.0) -> bool:
        """Takes that many tokens if they are there; else changes nothing."""

    def wait(self, key: str, cost: float = 1.0) -> float | None:
        """Seconds until that many tokens are there; ``None`` if they never will
        be."""

    def charge(self, key: str, cost: float = 1.0) -> None:
        """Takes that many tokens whether or not they are there."""

    def __len__(self) -> int: ...

def read_signals(
    status: int,
    headers: HeadersLike | None = None,
    body: bytes | bytearray | str | None = None,
    *,
    now: When | None = None,
) -> Signals:
    """Reads what a response says about limits.

    ``now`` is the local wall clock at reception, by default the system's; it is
    used only for dates and epochs of a response without a ``Date`` of its own.
    """

def parse_retry_after(
    value: str | bytes | float | None, *, now: When | None = None, date: When | None = None
) -> float | None:
    """The wait in seconds that a ``Retry-After`` value asks; ``None`` for what is
    no usable wait (empty, negative, signed, not a number).

    Dates are read against ``date``, the response's own ``Date``, if given, else
    against ``now``, by default the system's clock.

        >>> from rampmeter import parse_retry_after
        >>> parse_retry_after("1.5")
        1.5
        >>> parse_retry_after("-5") is None
        True
    """

def full_jitter(
    step: int, *, base: Duration | None = None, cap: Duration | None = None, unit: float | None = None
) -> float:
    """Seconds, uniform in [0, min(cap, base * 2**step)]; ``step`` counts from 0.
    ``unit`` in [0, 1) replaces the random number. Unset ends are those of the
    option ``backoff``."""

def equal_jitter(
    step: int, *, base: Duration | None = None, cap: Duration | None = None, unit: float | None = None
) -> float:
    """Seconds: half of min(cap, base * 2**step), and a uniform draw of the other
    half."""

def decorrelated_jitter(
    step: int,
    previous: Duration | None = None,
    *,
    base: Duration | None = None,
    cap: Duration | None = None,
    unit: float | None = None,
) -> float:
    """Seconds, uniform in [base, 3 * previous], at most ``cap``; the first, with
    ``step`` 0, in [0, base]."""

def audit(arguments: list[str], stdin: bytes | None = None) -> tuple[str, int] | None:
    """What ``rampmeter audit`` says and its exit status; ``None`` if it needs
    standard input, which is to be given then."""

def explain(arguments: list[str], stdin: bytes | None = None) -> tuple[str, int] | None:
    """What ``rampmeter explain`` says and its exit status; ``None`` if it needs
    standard input, which is to be given then."""

def options_json() -> str:
    """The options as JSON: name, unit, what they take, what they mean, default."""

def names(kind: str) -> list[str]:
    """The names that a kind of value can have."""

def _reseed_jitter(seed: int) -> None: ...
