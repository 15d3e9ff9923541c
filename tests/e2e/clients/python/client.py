"""The jobs of ``clients/README.md`` with httpx."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable
from typing import Any

import hishel
import hishel.httpx
import httpx
import rampmeter
from rampmeter.httpx import AsyncRateLimitTransport

Facts = dict[str, Any]


def client(limiter: rampmeter.Limiter) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=AsyncRateLimitTransport(limiter))


async def outcomes(calls: list[Awaitable[httpx.Response]]) -> Facts:
    """Awaits the calls together and says what became of them."""
    begin = time.monotonic()
    done = await asyncio.gather(*calls, return_exceptions=True)
    elapsed = time.monotonic() - begin
    failed = [outcome for outcome in done if isinstance(outcome, Exception)]
    limited = [error for error in failed if isinstance(error, rampmeter.RateLimitError)]
    return {
        "elapsed": elapsed,
        "statuses": Counter(outcome.status_code for outcome in done if isinstance(outcome, httpx.Response)),
        "retry_after": [error.retry_after for error in limited],
        "errors": [repr(error) for error in failed if error not in limited],
    }


async def fleet(url: str, calls: int, limiter: rampmeter.Limiter | None = None) -> Facts:
    async with client(limiter or rampmeter.Limiter()) as http:
        return await outcomes([http.get(f"{url}/items/{number}") for number in range(calls)])


async def accounts(url: str, first: int, second: int, after: float) -> Facts:
    async def account(name: str, calls: int) -> Facts:
        headers = {"Authorization": f"Bearer {name}"}
        return await outcomes([http.get(f"{url}/items/{number}", headers=headers) for number in range(calls)])

    async with client(rampmeter.Limiter()) as http:
        first_facts = asyncio.create_task(account("first", first))
        await asyncio.sleep(after)
        second_facts = await account("second", second)
        return {"first": await first_facts, "second": second_facts}


async def cancel(url: str, calls: int, answered: int) -> Facts:
    async with client(rampmeter.Limiter()) as http:
        begin = time.monotonic()
        tasks = [asyncio.create_task(http.get(f"{url}/items/{number}")) for number in range(calls)]
        while sum(task.done() for task in tasks) < answered:
            await asyncio.sleep(0.01)
        victims = [task for task in tasks if not task.done()][::2]
        for task in victims:
            task.cancel()
        await asyncio.gather(*victims, return_exceptions=True)
        facts = await outcomes([task for task in tasks if task not in victims])
        facts["elapsed"] = time.monotonic() - begin
        return facts | {"cancelled": sum(task.cancelled() for task in victims)}


async def too_long(url: str, calls: int) -> Facts:
    limiter = rampmeter.Limiter()
    facts: Facts = {"fleet": await fleet(url, calls, limiter), "next": await fleet(url, 1, limiter)}
    async with httpx.AsyncClient() as http:
        try:
            await limiter.arun(lambda: http.get(f"{url}/items/0"), method="GET", url=url)
        except rampmeter.RateLimitExceeded as error:
            facts["run"] = {"retry_after": error.retry_after}
    return facts


async def ignore_remaining(url: str, calls: int) -> Facts:
    return await fleet(url, calls, rampmeter.Limiter(respect_remaining=False, max_attempts=1))


async def two_meters(url: str, history: int, rest: int, after: float) -> Facts:
    async def group(name: str, calls: int) -> Facts:
        return await outcomes([http.get(f"{url}/{name}/{number}") for number in range(calls)])

    async with client(rampmeter.Limiter()) as http:
        history_facts = asyncio.create_task(group("history", history))
        await asyncio.sleep(after)
        rest_facts = await group("rest", rest)
        return {"history": await history_facts, "rest": rest_facts}


async def cached(url: str, cache: str, repeats: int) -> Facts:
    def caching(transport: httpx.AsyncBaseTransport) -> httpx.AsyncBaseTransport:
        return hishel.httpx.AsyncCacheTransport(transport, hishel.AsyncSqliteStorage(database_path=":memory:"))

    limiter = rampmeter.Limiter()
    if cache == "outside":
        transport = caching(AsyncRateLimitTransport(limiter))
    else:
        transport = AsyncRateLimitTransport(limiter, caching(httpx.AsyncHTTPTransport()))

    async with httpx.AsyncClient(transport=transport) as http:

        async def one_by_one(paths: list[str]) -> Facts:
            begin = time.monotonic()
            responses = [await http.get(url + path) for path in paths]
            return {
                "elapsed": time.monotonic() - begin,
                "statuses": Counter(response.status_code for response in responses),
            }

        return {
            "cached": await one_by_one(
                ["/items/1"] * (1 + repeats) + ["/items/2"] * (1 if cache == "inside" else 1 + repeats)
            ),
            "fresh": await one_by_one(["/items/3"]),
        }


async def post(url: str, calls: int, size: int, one_shot: bool) -> Facts:
    body = b"x" * size

    async def stream() -> AsyncIterator[bytes]:
        yield body

    async with client(rampmeter.Limiter()) as http:
        return await outcomes([http.post(f"{url}/items", content=stream() if one_shot else body) for _ in range(calls)])


JOBS = {job.__name__: job for job in (fleet, accounts, cancel, too_long, ignore_remaining, two_meters, cached, post)}


def main() -> None:
    arguments = json.loads(sys.argv[1])
    print(json.dumps(asyncio.run(JOBS[arguments.pop("job")](**arguments))))


if __name__ == "__main__":
    main()
