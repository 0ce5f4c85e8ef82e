"""Private recommendations: the figures and tables of Jain, Thakkar & Thakurta (2018)."""
