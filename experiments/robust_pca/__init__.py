"""Maunu, Yu & Lerman (2022): private outlier-robust PCA, Figs. 1-9."""
