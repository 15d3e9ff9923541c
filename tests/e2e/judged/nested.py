"""A helper that tries three times, inside a client that tries three times."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor

import httpx

URL = os.environ["RAMPMETER_URL"]
CALLS = int(os.environ["RAMPMETER_CALLS"])
ATTEMPTS = 3

client = httpx.Client()


def get(path: str) -> httpx.Response:
    """What a client library does by itself."""
    for attempt in range(ATTEMPTS):
        response = client.get(f"{URL}{path}")
        if response.status_code < 500:
            break
        time.sleep(0.1 * 2**attempt)
    return response


def call(number: int) -> None:
    """What the program does around it."""
    for _ in range(ATTEMPTS):
        if get(f"/call/{number}").is_success:
            break


with ThreadPoolExecutor(10) as pool:
    list(pool.map(call, range(CALLS)))
