"""The figures of Zhang & Balzano (2016): GROUSE, its progress and its bounds."""
