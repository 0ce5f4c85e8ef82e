"""The list of everything that can be rerun: one line each."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """A paper, as tables name it."""

    key: str
    short: str
    citation: str


@dataclass(frozen=True)
class Item:
    """A figure, a table or a comparison.

    ``module`` has a function ``call(job)``. ``uses`` names the files that a ``--full`` run takes
    from the folder given by ``--data``; without them rows are generated. ``paper`` is ``"ours"``
    for what no paper has.
    """

    name: str
    paper: str
    label: str
    title: str
    module: str
    call: str = "run"
    uses: str = ""
    peers: bool = False  # a full run makes environments for other libraries (needs a network)


PAPERS = (
    Paper("robust-pca", "Robust PCA", "Maunu, Yu & Lerman (2022), Stochastic and private "
          "nonconvex outlier-robust PCA"),
    Paper("riemannian", "Riemannian optimisation", "Utpala, Han, Jawanpuria & Mishra (2023), "
          "Improved differentially private Riemannian optimization"),
    Paper("grouse", "Streaming subspaces", "Zhang & Balzano (2016), Global convergence of a "
          "Grassmannian gradient descent algorithm for subspace estimation"),
    Paper("recommend", "Recommendations", "Jain, Thakkar & Thakurta (2018), Differentially "
          "private matrix completion revisited"),
    Paper("erm", "Linear models", "Wang, Ye & Xu (2017), Differentially private empirical risk "
          "minimization revisited: faster and more general"),
    Paper("ours", "Veilspan", "Comparisons of our own, in none of the papers"),
)  # fmt: skip

ITEMS = (
    Item("robust-pca-fig1", "robust-pca", "Fig. 1", "error along the iterations, six methods",
         "robust_pca.fig1"),
    Item("robust-pca-fig2", "robust-pca", "Fig. 2", "final error over N and D, ours beside theirs",
         "robust_pca.sizes", "run_fig2"),
    Item("robust-pca-fig3", "robust-pca", "Fig. 3", "a map of Europe from genes",
         "robust_pca.fig3", uses="PCA.txt and *.eigs of Novembre et al. (2008)"),
    Item("robust-pca-fig4", "robust-pca", "Fig. 4", "final error over epsilon and delta",
         "robust_pca.fig4"),
    Item("robust-pca-fig5", "robust-pca", "Fig. 5", "how often minibatches converge",
         "robust_pca.fig5"),
    Item("robust-pca-fig6", "robust-pca", "Fig. 6", "final error over D and r",
         "robust_pca.fig6"),
    Item("robust-pca-fig7", "robust-pca", "Fig. 7", "final error over N and D, all methods",
         "robust_pca.sizes", "run_fig7"),
    Item("robust-pca-fig8", "robust-pca", "Fig. 8", "time to an error of 1e-2, over N and D",
         "robust_pca.sizes", "run_fig8"),
    Item("robust-pca-fig9", "robust-pca", "Fig. 9", "how often 1e-2 is never reached, over N and D",
         "robust_pca.sizes", "run_fig9"),
    Item("robust-pca-rates", "robust-pca", "Theorems 2-12", "rates of descent and of REAP, "
         "REAP-started descent", "robust_pca.rates"),
    Item("riemannian-fig1", "riemannian", "Fig. 1", "time to draw tangent noise",
         "riemannian.fig1"),
    Item("riemannian-fig2", "riemannian", "Fig. 2", "what DP-RSVRG costs", "riemannian.fig2"),
    Item("riemannian-fig3", "riemannian", "Fig. 3", "excess risk against gradient calls",
         "riemannian.fig3", uses="Fashion-MNIST, MNIST and WordNet files (riemannian/data.py)"),
    Item("riemannian-table2", "riemannian", "Table 2", "what privatising DP-RSGD costs in time",
         "riemannian.table2"),
    Item("riemannian-rates", "riemannian", "Theorems 6-8", "rates of DP-RSVRG, and Claim 5",
         "riemannian.rates"),
    Item("grouse-lemmas", "grouse", "Lemmas 1, 2", "what the proofs rest on", "grouse.lemmas"),
    Item("grouse-proofs", "grouse", "Lemmas 3-8", "what Theorems 1 to 5 rest on", "grouse.proofs"),
    Item("grouse-fig1", "grouse", "Fig. 1", "progress with the theorems' bounds", "grouse.fig1"),
    Item("grouse-fig2", "grouse", "Fig. 2", "rows needed without noise", "grouse.fig2"),
    Item("grouse-fig3", "grouse", "Fig. 3", "rows needed with noise", "grouse.fig3"),
    Item("recommend-fig2", "recommend", "Fig. 2", "held-out error against epsilon",
         "recommend.fig2", uses="Jester and MovieLens-1M (recommend/data.py)", peers=True),
    Item("recommend-table1", "recommend", "Table 1", "users needed for a small error",
         "recommend.table1"),
    Item("recommend-table2", "recommend", "Table 2", "error of a low-rank approximation",
         "recommend.table2"),
    Item("erm-table1", "erm", "Table 1", "strongly convex: excess risk and gradients",
         "erm.table1"),
    Item("erm-table2", "erm", "Table 2", "convex: excess risk and gradients", "erm.table2"),
    Item("erm-table3", "erm", "Table 3", "many columns: l1-balls and Gaussian width",
         "erm.table3"),
    Item("erm-nonconvex", "erm", "Section 6", "losses that are not convex: PL, gradient norms",
         "erm.nonconvex"),
    Item("recommend-catalogue", "ours", "Catalogue", "which solver wins as a catalogue grows",
         "recommend.crossover", uses="MovieLens-1M, BookCrossing (recommend/data.py)"),
    Item("recommend-tuned", "ours", "Tuned", "the default beside the best of 16 settings",
         "recommend.tuned", uses="Jester, MovieLens (recommend/data.py)"),
    Item("lists", "ours", "Lists", "lists of 20 beside noisy popularity and EASE",
         "recommend.lists", uses="MovieLens, Jester, BookCrossing (recommend/data.py)"),
    Item("erm-accuracy", "ours", "Accuracy", "test accuracy of every linear solver",
         "erm.tables", uses="a9a, adult, census-income, covertype (erm/sets.py)", peers=True),
    Item("erm-regression", "ours", "Regression", "R^2 of every solver of linear regressions",
         "erm.regression"),
    Item("outlier-kinds", "ours", "Outliers", "robust PCA on kinds of outliers and offsets",
         "robust_pca.outlier_kinds"),
    Item("tables", "ours", "Tables", "curves of ordinary columns beside DP-EBM, AdaSSP and bins",
         "tables.run", uses="adult, census-income, covertype (tables/sets.py)", peers=True),
    Item("tables-unbounded", "ours", "No bounds", "linear models of which no bound is said",
         "tables.unbounded", uses="adult, census-income, covertype (tables/sets.py)"),
    Item("tables-rare", "ours", "Rare classes", "two percent of all rows: ranked and found",
         "tables.rare", uses="adult, covertype (tables/sets.py)"),
    Item("tables-several", "ours", "Several classes", "solvers of several classes on tables",
         "tables.several", uses="adult, covertype (tables/sets.py)"),
    Item("pca-default", "ours", "PCA", "PCA of which neither bound nor centre is said",
         "tables.pca", uses="fashion-mnist, mnist, covertype, census-income (tables/pca_tables.py)",
         peers=True),
    Item("images", "ours", "Images", "classes of images by public descriptions, solvers compared",
         "tables.images", uses="mnist, fashion-mnist (tables/images.py)"),
    Item("search", "ours", "Search", "a private search of settings beside the default rules",
         "search.run", uses="a9a, census-income, covertype (erm/sets.py)"),
    Item("streams", "ours", "Streams", "private subspaces of seven streams, block by block",
         "streams.run"),
    Item("scaling", "ours", "Scaling", "time and memory against n, D, r, users, items",
         "scaling.run"),
    Item("peers", "ours", "Peers", "accuracy, time, memory and audit beside other libraries",
         "peers.run", uses="a9a, MovieLens-1M (peers/README.md)", peers=True),
)  # fmt: skip


def choose(names: list[str]) -> list[Item]:
    """Items by name, by paper, or all of them; in the order of the list, none twice."""
    known = {item.name for item in ITEMS} | {paper.key for paper in PAPERS} | {"all"}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(
            f"nothing to reproduce is called {', '.join(unknown)}; `veilspan reproduce` lists "
            f"every name; a paper ({', '.join(paper.key for paper in PAPERS)}) stands for all "
            "of its figures, `all` for everything."
        )
    wanted = set(names)
    return [i for i in ITEMS if "all" in wanted or wanted & {i.name, i.paper}]
