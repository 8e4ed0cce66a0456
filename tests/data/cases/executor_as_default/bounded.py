import concurrent.futures


def call(function, limit, make=concurrent.futures.ThreadPoolExecutor):  # error: CG103 32
    with make(max_workers=1) as pool:  # error: CG103 10
        return pool.submit(function).result(timeout=limit)
