"""What a privacy reviewer reads: promises, their cost, the noise, and the record of a release.

``neighbors`` and ``budget`` say what is promised; ``gdp``, ``accounting`` and ``renyi`` what a list
of ``events`` costs; ``calibration`` how much noise a budget needs; ``spaces`` where an answer
lives; ``noise``, ``grid`` and ``discrete`` how noise is drawn; ``plan``, ``meter`` and
``statement`` what was intended, allowed and done. No module in here ever sees a row.
"""
