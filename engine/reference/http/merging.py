"""Several streams as one."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")


async def merged(sources: Sequence[AsyncIterator[Item]]) -> AsyncIterator[Item]:
    """Items of all sources as they come. Closing the result ends every source."""
    queue: asyncio.Queue[tuple[Item] | None] = asyncio.Queue()

    async def drain(source: AsyncIterator[Item]) -> None:
        try:
            async for item in source:
                queue.put_nowait((item,))
        finally:
            queue.put_nowait(None)

    tasks = [asyncio.create_task(drain(source)) for source in sources]
    try:
        ended = 0
        while ended < len(tasks):
            wrapped = await queue.get()
            if wrapped is None:
                ended += 1
            else:
                yield wrapped[0]
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
