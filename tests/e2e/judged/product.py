"""httpx with Rampmeter's transport and default options."""

from __future__ import annotations

import asyncio
import os

import httpx
from rampmeter import Limiter
from rampmeter.httpx import AsyncRateLimitTransport

URL = os.environ["RAMPMETER_URL"]
CALLS = int(os.environ["RAMPMETER_CALLS"])


async def main() -> None:
    async with httpx.AsyncClient(transport=AsyncRateLimitTransport(Limiter())) as client:
        calls = (client.get(f"{URL}/call/{number}") for number in range(CALLS))
        await asyncio.gather(*calls, return_exceptions=True)


asyncio.run(main())
