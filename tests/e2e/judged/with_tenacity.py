"""httpx with tenacity, as its documentation has it for remote services: exponential backoff with jitter."""

from __future__ import annotations

import asyncio
import os

import httpx
from tenacity import retry, stop_after_attempt, wait_random_exponential

URL = os.environ["RAMPMETER_URL"]
CALLS = int(os.environ["RAMPMETER_CALLS"])


@retry(wait=wait_random_exponential(multiplier=1, max=60), stop=stop_after_attempt(6))
async def call(client: httpx.AsyncClient, number: int) -> None:
    response = await client.get(f"{URL}/call/{number}")
    response.raise_for_status()


async def main() -> None:
    async with httpx.AsyncClient(limits=httpx.Limits(max_connections=100)) as client:
        await asyncio.gather(*(call(client, number) for number in range(CALLS)), return_exceptions=True)


asyncio.run(main())
