"""Time small functions on a busy machine: CPU time of this thread, best of interleaved rounds.

Standard library only, because the oracle environment imports it too.
"""

import time


def interleaved(functions, budget=0.2, rounds=5, slow=0.3):
    """Best CPU seconds per call of each function, measured in turns so that all share the noise.

    A call that takes longer than `slow` seconds is not repeated.
    """
    counts, best = {}, {}
    for name, f in functions.items():
        start = time.thread_time()
        f()
        first = time.thread_time() - start
        if first < slow:
            start = time.thread_time()
            f()
            first = max(time.thread_time() - start, 1e-7)
        counts[name] = 0 if first >= slow else max(1, int(budget / rounds / first))
        best[name] = first
    for _ in range(rounds):
        for name, f in functions.items():
            n = counts[name]
            if n:
                start = time.thread_time()
                for _ in range(n):
                    f()
                best[name] = min(best[name], (time.thread_time() - start) / n)
    return best
