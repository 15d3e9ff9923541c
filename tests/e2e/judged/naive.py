"""Sends each call again at once until it is served."""

from __future__ import annotations

import os
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

URL = os.environ["RAMPMETER_URL"]
CALLS = int(os.environ["RAMPMETER_CALLS"])


def call(number: int) -> bytes:
    while True:
        try:
            with urllib.request.urlopen(f"{URL}/call/{number}", timeout=10) as response:
                body: bytes = response.read()
                return body
        except urllib.error.HTTPError as refusal:
            refusal.close()


with ThreadPoolExecutor(20) as pool:
    list(pool.map(call, range(CALLS)))
