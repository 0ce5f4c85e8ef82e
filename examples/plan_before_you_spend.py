"""How many rows does a private PCA need? Ask the plan: it looks at no data."""

from veilspan import PCA

print(f"{'rows':>8} {'epsilon':>8}   variance that pure noise reaches (rows of length 1)")
for n_rows in (1_000, 10_000, 100_000):
    for epsilon in (0.1, 1.0, 5.0):
        plan = PCA(n_components=3, epsilon=epsilon, delta=1e-6, row_norm=1.0).plan(n_rows, 50)
        print(f"{n_rows:>8} {epsilon:>8}   {plan.decisions['noise edge, variance']:.4f}")

print("\nA component is worth releasing if it explains clearly more than that.")
