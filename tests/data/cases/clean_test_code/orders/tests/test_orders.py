import threading


def test_two_at_once():
    workers = [threading.Thread(target=print) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(5)
