"""Every figure and table of five papers, and every comparison, rerun: ``veilspan reproduce``.

``registry.py`` lists them. Each is one module with a function ``run(job)``; ``job.py`` is all that
it needs of the outside: how much to do, where rows come from, progress, finished parts, and how
results are written. ``style.py`` gives all pictures one look.

The folder is the package ``veilspan_experiments``, loaded by ``veilspan.cli.experiments`` from a
checkout or from an installed wheel: modules import each other relatively.
"""
