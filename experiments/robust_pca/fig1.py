"""Figure 1: error against iteration and CPU time, six methods at one setting."""

import numpy as np
from common import EPSILON, RANK, Claim, paper_batch, paper_delta, save, short, track
from costs import noise_std, true_epsilon, wishart_delta
from honest import our_solver, paper_solver, run_honest
from printed import METHODS, run_printed

from veilspan.datasets import make_haystack

N, D = 2000, 20


def measure(quick):
    """Curves by (kind, method), one per repetition, and the final errors of our own settings."""
    steps, delta = N, paper_delta(N)
    batch = paper_batch(N, steps)
    setting = {"epsilon": EPSILON, "delta": delta}
    curves, ours = {}, {}
    for seed in track(range(2 if quick else 20), "Fig. 1, repetitions"):
        data = make_haystack(N, D, RANK, noise=0.0, random_state=seed)
        for method in METHODS:
            run, _ = run_printed(method, data, steps=steps, batch=batch, seed=seed, **setting)
            curves.setdefault(("printed", method), []).append(run)
            solver = paper_solver(method, steps, batch / N)
            run, _ = run_honest(solver, data, seed=seed, **setting)
            curves.setdefault(("honest", method), []).append(run)
            run, _ = run_honest(our_solver(method), data, seed=seed, **setting)
            ours.setdefault(method, []).append(run)
        ours.setdefault("auto", []).append(run_honest("auto", data, seed=seed, **setting)[0])
    return curves, ours


def median_at(runs, step):
    """Median log error at the checkpoint nearest to a step."""
    k = int(np.argmin(np.abs(runs[0].steps[:-1] - step)))
    return float(np.median([run.errors[k] for run in runs]))


def final(runs):
    return float(np.median([run.final for run in runs]))


def last_iterate(runs):
    """The error of the last watched iterate, before any averaging."""
    return float(np.median([run.errors[-2] for run in runs]))


def rows_of(curves, ours):
    for (kind, method), runs in curves.items():
        for seed, run in enumerate(runs):
            for k, error, seconds in zip(run.steps, run.errors, run.seconds):
                yield {"kind": kind, "method": method, "seed": seed, "step": int(k),
                       "log10_d2": round(error, 4), "cpu_seconds": round(seconds, 5)}  # fmt: skip
    for method, runs in ours.items():
        for seed, run in enumerate(runs):
            yield {"kind": "ours", "method": method, "seed": seed, "step": int(run.steps[-1]),
                   "log10_d2": round(run.final, 4), "cpu_seconds": round(run.cpu, 5)}  # fmt: skip


def draw(curves, ours, costs, path):
    from plots import NOT_PRIVATE, STYLES, finish, grid_of

    figure, axes = grid_of(2, 4, 3.9, 3.7)
    titles = {"printed": "as printed", "honest": "honest: same steps, charged start"}
    auto = final(ours["auto"]), float(np.median([run.cpu for run in ours["auto"]]))
    for i, kind in enumerate(("printed", "honest")):
        for j, (xs, group) in enumerate(
            [(x, g) for x in ("steps", "seconds") for g in (METHODS[:3], METHODS[3:])]
        ):
            ax = axes[i][j]
            for method in group:
                runs = curves[kind, method]
                x = np.median([getattr(run, xs) for run in runs], axis=0)[:-1]
                low, middle, high = np.percentile([run.errors[:-1] for run in runs],
                                                  [25, 50, 75], axis=0)  # fmt: skip
                colour, line = STYLES[method]
                label = f"dp-{method}"
                if kind == "printed":
                    label += f": ε = {short(costs[method]['epsilon'])}"
                    label += " + start: not private" * method.endswith("GGD")
                ax.plot(x, middle, line, color=colour, label=label, linewidth=1.8)
                ax.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
            if kind == "honest":
                colour, _ = STYLES["auto"]
                ax.axhline(auto[0], color=colour, linestyle=":", linewidth=1.4)
                where = auto[1] if xs == "seconds" else 0
                ax.plot([where], [auto[0]], "*", color=colour, markersize=12, label="auto",
                        clip_on=False, linestyle="none")  # fmt: skip
            ax.set_ylim(-34 if j < 2 else -27, 1.5)  # room for the legend
            ax.grid(alpha=0.25)
            stochastic = group is not METHODS[:3] and group[0] == "SGGD"
            bad = kind == "printed" and stochastic
            what = "minibatch" if stochastic else "full batch"
            ax.set_title(f"{titles[kind]}, {what}", color=NOT_PRIVATE if bad else "black")
            ax.set_xlabel("iteration" if xs == "steps" else "CPU seconds")
            ax.set_ylabel("log10 d²" if j == 0 else "")
            if j < 2:
                ax.legend(frameon=False, fontsize=8.5, loc="lower left")
    finish(
        figure,
        f"Fig. 1: N = {N}, D = {D}, r = {RANK}, half inliers, ε = {EPSILON}, δ = 1/√N. ε in the "
        "legends: true cost of the printed noise. Red: not private",
        path,
    )


def costs_of(delta):
    batch = paper_batch(N, N)
    costs = {}
    for method in METHODS:
        setting = (method, N, N, EPSILON, delta, batch)
        costs[method] = {"noise_std": noise_std(*setting), "epsilon": true_epsilon(*setting)}
    return costs


def judge(curves, ours, costs):
    end = {key: last_iterate(runs) for key, runs in curves.items()}
    print_ggd, print_sggd = end["printed", "GGD"], end["printed", "SGGD"]
    ggd, sggd = end["honest", "GGD"], end["honest", "SGGD"]
    middle = median_at(curves["honest", "GGD"], N // 2)
    convex = min(end["honest", m] for m in METHODS if "REAP" in m)
    early = median_at(curves["honest", "SMD-REAP"], 300), median_at(curves["honest", "SGGD"], 300)
    printed_early = (median_at(curves["printed", "SMD-REAP"], 300),
                     median_at(curves["printed", "SGGD"], 300))  # fmt: skip
    true = costs["SGGD"]["epsilon"]
    return [
        Claim("dp-SGGD and dp-SGD/SMD-REAP are (0.8, 1/sqrt(N))-private",
              f"their steps alone have epsilon {true:.3g}", true <= EPSILON),
        Claim("dp-GGD is (0.8, 1/sqrt(N))-private",
              f"steps {costs['GGD']['epsilon']:.2f}, but its Wishart start has delta >= "
              f"{wishart_delta(EPSILON):.2f} at every epsilon", False),
        Claim("dp-GGD converges linearly (exact inliers)",
              f"honest: {middle:.1f} at N/2, {ggd:.1f} at N steps; printed {print_ggd:.1f}",
              ggd < 1.6 * middle < 0),
        Claim("dp-SGGD beats dp-GGD: it needs less noise",
              f"printed {print_sggd:.1f} against {print_ggd:.1f}; honest {sggd:.1f} against "
              f"{ggd:.1f}", sggd < ggd - 0.5),
        Claim("the nonconvex methods beat the convex ones",
              f"honest: {max(ggd, sggd):.1f} against {convex:.1f}", max(ggd, sggd) < convex),
        Claim("dp-SMD-REAP is ahead of dp-SGGD in the beginning (k = 300)",
              f"printed {printed_early[0]:.1f} against {printed_early[1]:.1f}; honest "
              f"{early[0]:.1f} against {early[1]:.1f}", early[0] < early[1]),
    ]  # fmt: skip


def run(folder, quick, data=None):
    delta = paper_delta(N)
    curves, ours = measure(quick)
    costs = costs_of(delta)
    claims = judge(curves, ours, costs)
    draw(curves, ours, costs, folder / "fig1.png")
    ends = {f"{kind} dp-{m}": last_iterate(runs) for (kind, m), runs in curves.items()}
    averaged = {m: final(curves["honest", m]) for m in METHODS}
    own = {m: final(runs) for m, runs in ours.items()}
    linear, stochastic = claims[2].holds, claims[3].holds
    line = (
        f"printed dp-SGGD has epsilon {costs['SGGD']['epsilon']:.2g}, not {EPSILON}; with correct "
        f"noise dp-SGGD/dp-GGD end at {ends['honest dp-SGGD']:.1f}/{ends['honest dp-GGD']:.1f} "
        f"(log10 d^2), auto {own['auto']:.1f}; linear convergence "
        f"{'survives' if linear else 'does not survive'}, the stochastic advantage "
        f"{'survives' if stochastic else 'vanishes'}"
    )
    return save(
        folder, "fig1", list(rows_of(curves, ours)), claims, line, epsilon=EPSILON, delta=delta,
        true_costs=costs, wishart_start_least_delta=wishart_delta(EPSILON), last_iterate=ends,
        honest_answer=averaged, our_settings=own,
        accounting="minibatch epsilon: the library's accountant, Poisson sampling, replace-one",
    )  # fmt: skip
