"""Wang, Ye & Xu (2017): Tables 1 to 3 as measurements, and accuracies of private linear models."""
