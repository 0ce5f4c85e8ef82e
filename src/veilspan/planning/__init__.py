"""What noise would cost, foretold on made-up rows before anything is spent."""

from veilspan.planning.simulate import simulate_utility
from veilspan.planning.utility_curve import NotSimulatedError, UtilityCurve

__all__ = ["NotSimulatedError", "UtilityCurve", "simulate_utility"]
