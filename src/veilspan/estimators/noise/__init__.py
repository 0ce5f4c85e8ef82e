"""What noise did to a release, from public and released numbers alone: warnings and error bars."""
