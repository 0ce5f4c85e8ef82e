"""What is asked of rows beside gradients: for bars of curves."""
