"""A fleet of concurrent calls with httpx, with Rampmeter or with the usual retry of each call by itself.

    python fleet.py URL --calls 200 --strategy rampmeter|per-request [--wait]

Prints one line of JSON. With --wait it prints `ready` first and begins when it has read a line.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from collections import Counter

import httpx
import rampmeter
import rampmeter.httpx

# The bounds of the usual retry: how often it sends one call, and its longest backoff in seconds.
MAX_ATTEMPTS = 100
MAX_BACKOFF = 20.0


async def per_request(client: httpx.AsyncClient, url: str) -> httpx.Response:
    """Sends, and after each refusal sleeps as long as that refusal says; without a word, full jitter."""
    for attempt in range(MAX_ATTEMPTS):
        response = await client.get(url)
        if response.status_code != 429:
            break
        retry_after = response.headers.get("retry-after")
        if retry_after is not None:
            await asyncio.sleep(float(retry_after))
        else:
            await asyncio.sleep(random.uniform(0, min(2.0**attempt, MAX_BACKOFF)))
    return response


async def once(client: httpx.AsyncClient, url: str) -> httpx.Response:
    """Sends; the transport does the rest."""
    return await client.get(url)


async def fleet(url: str, calls: int, strategy: str, wait: bool) -> dict[str, object]:
    if strategy == "rampmeter":
        limiter = rampmeter.Limiter()
        transport: httpx.AsyncBaseTransport = rampmeter.httpx.AsyncRateLimitTransport(limiter)
        call = once
    else:
        transport = httpx.AsyncHTTPTransport()
        call = per_request

    async with httpx.AsyncClient(transport=transport, headers={"x-fleet": strategy}, timeout=60) as client:
        if wait:
            print("ready", flush=True)
            sys.stdin.readline()
        begin = time.monotonic()
        urls = [f"{url}/items/{number}" for number in range(calls)]
        outcomes = await asyncio.gather(*(call(client, each) for each in urls), return_exceptions=True)
        elapsed = time.monotonic() - begin

    done = [outcome for outcome in outcomes if isinstance(outcome, httpx.Response) and outcome.is_success]
    failures = Counter(
        f"status {outcome.status_code}" if isinstance(outcome, httpx.Response) else repr(outcome)
        for outcome in outcomes
        if outcome not in done
    )
    return {
        "language": "Python",
        "client": f"httpx {httpx.__version__}",
        "strategy": strategy,
        "calls": calls,
        "done": len(done),
        "elapsed": elapsed,
        "failures": failures,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--strategy", choices=["rampmeter", "per-request"], default="rampmeter")
    parser.add_argument("--wait", action="store_true")
    arguments = parser.parse_args()
    facts = asyncio.run(fleet(arguments.url, arguments.calls, arguments.strategy, arguments.wait))
    print(json.dumps(facts), flush=True)


if __name__ == "__main__":
    main()
