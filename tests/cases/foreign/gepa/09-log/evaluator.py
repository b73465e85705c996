import threading

import gepa.optimize_anything as oa


def evaluate(candidate):
    context = oa.get_log_context()

    def work():
        oa.set_log_context(context)
        oa.log("from", "a thread", sep=" ")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    oa.log("length", len(candidate))
    return 0.5
