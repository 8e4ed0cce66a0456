import asyncio
from typing import Optional


class Hub:
    loop: Optional["asyncio.AbstractEventLoop"] = None

    def attach(self):
        self.loop = asyncio.get_running_loop()

    def publish(self, message):
        self.loop.create_task(self._send(message))  # error: CG102 9

    async def _send(self, message):
        await asyncio.sleep(0)
