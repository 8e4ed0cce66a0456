import _thread


def boot(run):
    _thread.start_new_thread(run, ())  # error: CG101 5
