from workers.base import Stoppable


class MailWorker(Stoppable):  # error: CG101 18
    def run(self):
        while not self.stopping.wait(1):
            pass
