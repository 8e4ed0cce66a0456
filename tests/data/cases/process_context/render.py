import multiprocessing as mp

ctx = mp.get_context("fork")


def render(pages):
    with ctx.Pool(4) as pool:  # error: CG104 10
        return pool.map(len, pages)
