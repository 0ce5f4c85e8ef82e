"""One line an estimator: who reads the catalogue, and that nothing public is missing from it."""

import ast
import inspect
from pathlib import Path

import pytest

import veilspan
from veilspan import catalogue
from veilspan.catalogue import COMMANDS, ESTIMATORS
from veilspan.cli.arguments.estimators import KINDS
from veilspan.estimators.base import PrivateEstimator
from veilspan.releases.names import releasable


def public_estimators():
    found = (getattr(veilspan, name) for name in veilspan.__all__)
    classes = [each for each in found if inspect.isclass(each)]
    return {c.__name__ for c in classes if issubclass(c, PrivateEstimator)} | {"SubspaceTracker"}


def test_every_public_estimator_is_listed():
    assert public_estimators() == set(ESTIMATORS)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_line_leads_to_its_class(name):
    kind = ESTIMATORS[name]
    found = kind.load_class()
    assert found is getattr(veilspan, name)
    assert found is getattr(catalogue, name)
    assert found.__module__ == f"veilspan.{kind.home}"


@pytest.mark.parametrize("name", COMMANDS)
def test_small_settings_make_an_estimator_that_can_plan(name):
    made = COMMANDS[name].make_small(epsilon=2.0, delta=1e-6)
    if COMMANDS[name].has_releases:
        shape = (50,) if COMMANDS[name].reads == "cells" else (50, 4)  # its schema says the rest
        assert made.plan(*shape).epsilon <= 2.0


def test_names_are_unique_and_shared():
    assert len(COMMANDS) == len(ESTIMATORS)
    assert list(KINDS) == [c for c, kind in COMMANDS.items() if kind.estimator in releasable()]


def test_type_checkers_see_the_same_names():
    tree = ast.parse(Path(catalogue.__file__).read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == {name: f"veilspan.{kind.home}" for name, kind in ESTIMATORS.items()}


def test_an_unknown_name_is_no_attribute():
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = catalogue.Nothing
