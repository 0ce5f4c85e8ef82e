"""Methods **without privacy**, for rows that are the caller's own.

``baselines`` are the references that figures compare with, ``diagnostics`` say how hard a robust
subspace problem is, ``grouse`` follows a stream. Releasing what they return is publishing a
function of the raw data.
"""
