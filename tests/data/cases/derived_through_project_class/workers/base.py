import threading


class Stoppable(threading.Thread):  # error: CG101 17
    def __init__(self):
        super().__init__(daemon=True)
        self.stopping = threading.Event()
