"""A crawler: async functions, f-strings, context managers, assignment expressions."""

import asyncio
import re
import time
from contextlib import asynccontextmanager, suppress
from urllib import parse as urlparse

LINK = re.compile(rb"""href=["'](?P<target>[^"'#]+)""", re.I | re.S)
MAX_DEPTH, TIMEOUT = 3, 2.5


class Throttle:
    def __init__(self, delay_seconds):
        self.delay_seconds = delay_seconds
        self._next_slot = {}

    async def wait(self, host):
        now = time.monotonic()
        slot = max(now, self._next_slot.get(host, 0.0))
        self._next_slot[host] = slot + self.delay_seconds
        await asyncio.sleep(slot - now)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *exc_info):
        self._next_slot.clear()


@asynccontextmanager
async def opened(session, page_url, *, retries=2):
    for attempt in range(retries + 1):
        try:
            response = await asyncio.wait_for(session.get(page_url), TIMEOUT)
        except (asyncio.TimeoutError, OSError) as failure:
            if attempt == retries:
                raise ConnectionError(f"{page_url}: {failure!s:>20} after {attempt + 1:02d} tries") from failure
        else:
            break
    try:
        yield response
    finally:
        await response.release()


async def links_of(response, base_url):
    body = await response.read()
    targets = [match["target"].decode("ascii", "replace") for match in LINK.finditer(body)]
    return {urlparse.urljoin(base_url, target) for target in targets if not target.startswith(("mailto:", "data:"))}


async def crawl(session, start_urls, is_wanted=lambda url: True, throttle=None):
    seen, frontier, depth = set(start_urls), list(start_urls), 0
    while frontier and (depth := depth + 1) <= MAX_DEPTH:
        found = await asyncio.gather(*(visit(session, url, throttle) for url in frontier), return_exceptions=True)
        fresh = {link for links in found if not isinstance(links, BaseException) for link in links}
        frontier = [link for link in sorted(fresh - seen) if is_wanted(link)]
        seen |= set(frontier)
    return seen


async def visit(session, page_url, throttle):
    host = urlparse.urlsplit(page_url).netloc
    if throttle is not None: await throttle.wait(host)
    async with opened(session, page_url) as response:
        with suppress(UnicodeError):
            return await links_of(response, page_url)
    return set()


async def titles(session, urls):
    async for url, text in pages(session, urls):
        title = text.partition("<title>")[2].partition("</title>")[0]
        yield url, f"{title.strip() or 'untitled'!r:{'<' if title else '>'}{40}}|{len(text):,} {url=}"


async def pages(session, urls):
    for url in urls:
        async with opened(session, url) as response:
            yield url, (await response.read()).decode()


async def longest(session, urls):
    sizes = {url: len(text) async for url, text in pages(session, urls)}
    return max(sizes, key=sizes.__getitem__) if sizes else None
