"""Fifty people read the studio while one fit runs and four wait: how long a page takes.

    python benchmarks/studio.py [--seconds 30] [--readers 50] [--jobs 5]

The studio runs in a process of its own on the demo hospital. Every reader opens a page, reads it
for about two seconds and opens another; jobs are queued by the forms that a person would send.
Printed are the median, the 95th percentile and the slowest page, while jobs ran, beside the target:
95 of 100 pages within 0.1 s on two cores.
"""

import argparse
import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

import httpx

TARGET = 0.1
#: Seconds for which somebody reads a page before the next one.
READING = 2.0
THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=30.0)
    options.add_argument("--readers", type=int, default=50)
    options.add_argument("--jobs", type=int, default=5)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [sys.executable, "-m", "veilspan", "studio", "--demo", "--no-browser", "--json"],
            cwd=folder,
            env={**os.environ, **THREADS},
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            link = json.loads(process.stdout.readline())["link"]
            asyncio.run(measure(link, given))
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)


async def measure(link, given):
    origin = link.partition("/enter")[0]
    limits = httpx.Limits(max_connections=given.readers + 5)
    async with httpx.AsyncClient(base_url=origin, timeout=60, limits=limits) as client:
        await client.get(link)
        requests = [await queue_fit(client, origin) for _ in range(given.jobs)]
        pages = ["/", "/d/ward", "/d/ward/schema", "/d/ward/ask", "/requests", "/releases"]
        pages += [f"/r/{request}" for request in requests]
        times, end = [], time.monotonic() + given.seconds
        await asyncio.gather(*(read(client, pages, times, end, k) for k in range(given.readers)))
        text = (await client.get("/requests")).text
    left = len(re.findall(r">approved<|>charged, no release<", text))
    times.sort()
    late = times[int(0.95 * len(times))]
    print(f"{given.readers} readers, {len(times)} pages, {given.jobs} jobs, {left} not done yet")
    print(f"median {times[len(times) // 2]:.3f} s, 95th percentile {late:.3f} s, "
          f"slowest {times[-1]:.3f} s")  # fmt: skip
    print(f"target {TARGET} s: {'met' if late < TARGET else 'MISSED'}")


async def queue_fit(client, origin):
    """Ask, sign and run a logistic regression; return the id of the request."""
    page = await client.get("/")
    token = re.search(r'name="csrf" value="([^"]+)"', page.text).group(1)

    async def send(path, **fields):
        answer = await client.post(path, data={"csrf": token, **fields}, headers={"Origin": origin})
        assert answer.status_code == 303, answer.text
        return answer.headers["location"]

    draft = (await send("/d/ward/ask", method="logistic", params="", note="", draft="")).split("/")
    await send(f"/r/{draft[2]}/epsilon", epsilon="0.3", go="on")
    return (await send(f"/r/{draft[2]}/submit", epsilon="0.3", agree="yes")).split("/")[2]


async def read(client, pages, times, end, seed):
    """One reader: a page, a while, another page."""
    rng = random.Random(seed)
    await asyncio.sleep(rng.random() * READING)
    while time.monotonic() < end:
        begin = time.perf_counter()
        answer = await client.get(rng.choice(pages))
        times.append(time.perf_counter() - begin)
        assert answer.status_code == 200, answer.text
        await asyncio.sleep(READING * (0.5 + rng.random()))


if __name__ == "__main__":
    main()
