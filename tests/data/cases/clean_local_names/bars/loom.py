from .threading import Thread


class Loom:
    def __init__(self, asyncio):
        self.asyncio = asyncio

    def weave(self):
        self.asyncio.create_task(Thread("red"))
        return Thread("blue")
