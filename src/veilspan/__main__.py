"""``python -m veilspan`` is the command ``veilspan``."""

from veilspan.cli import main

if __name__ == "__main__":
    main()
