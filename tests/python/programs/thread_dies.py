# SPDX-License-Identifier: GPL-3.0-or-later
"""A thread that is not the main one dies; the main one waits for it."""
import sys
import threading

import truth


def work(depth):
    if depth:
        return work(depth - 1)
    truth.record(sys._getframe(), WEAVE), truth.end()


WEAVE = [truth.END, "work*4", "run", "~", "@."]
thread = threading.Thread(target=work, args=(3,), name="dies")
thread.start()
thread.join()
