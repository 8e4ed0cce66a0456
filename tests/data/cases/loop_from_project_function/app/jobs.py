from .loops import current


def start(work):
    loop = current()
    return loop.run_in_executor(None, work)  # error: CG103 12
