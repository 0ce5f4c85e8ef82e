"""Every example in the documentation of geometry runs."""

import doctest
import subprocess
import sys
from pathlib import Path

import veilspan.geometry.checks
import veilspan.geometry.product

ROOT = Path(__file__).parents[2]


def test_page():
    page = ROOT / "docs" / "geometry.md"
    result = doctest.testfile(str(page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert result.attempted > 10
    assert not result.failed


def test_docstrings():
    for module in (veilspan.geometry.checks, veilspan.geometry.product):
        assert not doctest.testmod(module).failed


def test_importing_is_cheap():
    code = "import sys, veilspan.geometry; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
