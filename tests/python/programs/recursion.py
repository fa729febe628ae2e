# SPDX-License-Identifier: GPL-3.0-or-later
"""Deep recursion of Python alone: one evaluation loop runs it all from 3.11 on."""
import sys

import truth

DEPTH = int(sys.argv[1]) if len(sys.argv) > 1 else 900
sys.setrecursionlimit(DEPTH + 200)


class Walker:
    def down(self, depth, *args, **options):
        if depth:
            return self.across(depth - 1)
        truth.record(sys._getframe(), WEAVE), truth.end()

    def across(self, depth):
        if depth:
            return self.down(
                depth - 1,
                depth
            )
        truth.record(sys._getframe(), WEAVE), truth.end()


WEAVE = [truth.END, "~", truth.MAIN]
Walker().down(DEPTH)
