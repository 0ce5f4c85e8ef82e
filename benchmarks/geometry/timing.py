"""Time small functions on a busy machine: CPU time of this thread, best of interleaved rounds.

Standard library only, because the oracle environment imports it too.
"""

import time


def interleaved(functions, budget=0.3, rounds=9, longest=1.5):
    """Best CPU seconds per call of each function, measured in turns so that all share the noise.

    Fast functions get `budget` seconds; slow ones as many calls as fit in `longest` seconds.
    """
    counts, turns, best = {}, {}, {}
    for name, f in functions.items():
        start = time.thread_time()
        f()
        first = time.thread_time() - start
        if first < 0.1 * longest:  # the first call also pays for imports and caches
            start = time.thread_time()
            f()
            first = max(time.thread_time() - start, 1e-7)
        counts[name] = n = max(1, int(budget / rounds / first))
        turns[name] = min(rounds, int(longest / (n * first)))
        best[name] = first
    for turn in range(rounds):
        for name, f in functions.items():
            n = counts[name]
            if turn < turns[name]:
                start = time.thread_time()
                for _ in range(n):
                    f()
                best[name] = min(best[name], (time.thread_time() - start) / n)
    return best
