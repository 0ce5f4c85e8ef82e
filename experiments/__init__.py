"""Every figure and table of five papers, and every comparison, rerun: ``veilspan reproduce``.

``registry.py`` lists them. Each is one module with a function ``run(job)``; ``job.py`` is all that
it needs of the outside: how much to do, where rows come from, progress, finished parts, and how
results are written. ``records.py`` reads those results back, ``page.py`` makes a page of them, and
``style.py`` gives all pictures one look.

The package is part of the repository and of no wheel. It imports veilspan, never its command line:
``veilspan reproduce`` looks for it in a checkout and calls it, and ``import experiments`` works
where the checkout is on the path.
"""
