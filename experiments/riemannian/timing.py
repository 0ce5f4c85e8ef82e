"""CPU times of small functions on a busy machine, side by side."""

import time


def interleaved(functions, budget=0.3, rounds=9, longest=1.5):
    """Best CPU seconds per call of each function, measured in turns so that all share the noise.

    Fast functions get ``budget`` seconds; slow ones as many calls as fit in ``longest`` seconds.
    """
    counts, turns, best = {}, {}, {}
    for name, function in functions.items():
        first = seconds(function, 1)
        if first < 0.1 * longest:  # the first call also pays for imports and caches
            first = max(seconds(function, 1), 1e-7)
        counts[name] = count = max(1, int(budget / rounds / first))
        turns[name] = min(rounds, int(longest / (count * first)))
        best[name] = first
    for turn in range(rounds):
        for name, function in functions.items():
            if turn < turns[name]:
                best[name] = min(best[name], seconds(function, counts[name]))
    return best


def seconds(function, count):
    """CPU seconds of this thread for one call, on average over ``count``."""
    start = time.thread_time()
    for _ in range(count):
        function()
    return (time.thread_time() - start) / count
