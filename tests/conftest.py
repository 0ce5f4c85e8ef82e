"""Settings of the whole suite."""

import io
import itertools
import os
import signal
from contextlib import redirect_stderr
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings

from fixed_secrets import FixedSecrets, draw_fixed_secrets

TESTS = Path(__file__).parent
#: Left to ``run.py test --all``, which ``.ci/run`` runs: folders, files and single tests, and why
#: they take long.
SLOW = {
    "audit/test_search_audit.py": "replays of searches, each of many fits",
    "audit/test_private_tracking_audit.py::test_nothing_but_answers_leaves": "replays of streams",
    "cli/test_fit_by_schema.py::test_a_secret_in_a_cell_appears_nowhere": "processes",
    "contracts/test_loud_noise.py::test_structure_at_a_large_epsilon": "every kind, fitted well",
    "estimators/search/test_private_search.py::test_trials_that_are_not_gaussian": "accountants",
    "estimators/test_schema.py::test_dask_frames_give_the_rows_of_the_frame": "a cluster",
    "studio/test_jobs.py": "processes that are killed",
    "studio/test_plan.py::test_the_slider_tells_what_the_ledger_would_charge": "many plans",
    "audit/test_table_model_audit.py": "replays of whole pipelines",
    "contracts/test_schema_tables.py::test_a_hostile_line_is_a_row_like_others": "replays",
    "estimators/linear/test_contract.py::test_a_sparse_table_is_never_made_dense": "800 MB filled",
    "estimators/noise/test_error_bars.py::test_descent_is_covered": "hundreds of fits",
    "nonprivate/grouse/test_rank.py::test_the_dimension_is_found": "long streams",
    "solvers/linear/test_rare_classes.py::test_replay": "replays",
    "studio/test_story.py::test_sending_again_changes_nothing": "a release of its own",
    "studio/test_story.py::test_two_releases_side_by_side": "releases of its own",
    "studio/test_story.py::test_what_the_python_of_a_draft_charged": "a release of its own",
    "studio/test_story.py::test_withdrawing_refunds_nothing": "a release of its own",
    "tables/test_csv.py::test_a_cell_of_a_megabyte_is_a_cell": "large files",
    "tables/test_csv.py::test_one_odd_cell_among_usual_ones": "thousands of files",
    "audit/test_game.py": "games: thousands of fits each",
    "audit/test_query_games.py": "games: thousands of answers each",
    "audit/test_release_games.py": "games: hundreds of fits each",
    "audit/test_list_games.py": "games: hundreds of fits each",
    "audit/test_broken_curators.py": "every broken curator through every audit",
    "audit/test_linear_audit.py": "replays of every sampled solver",
    "audit/test_linear_models_audit.py": "replays of every linear model",
    "audit/test_manifold_audit.py": "replays on every manifold",
    "audit/test_replay_matrix.py": "replays of every estimator, solver and relation",
    "audit/test_reviewed_attacks.py": "attacks that once succeeded, at their full sizes",
    "contracts/test_replay.py": "replays of every estimator and solver",
    "contracts/test_silence.py": "every estimator under every setting of warnings",
    "audit/test_objective_audit.py::test_replay_finds_nothing": "replays of a minimum",
    "audit/test_one_run.py::test_halved_noise_on_pca_at_epsilon_8_is_flagged": "many fits",
    "cli/demo": "the demo, whole",
    "cli/test_stop_signals.py": "processes that are stopped half-way",
    "contracts/test_budgets.py::test_the_quick_bound_is_above_the_numerical_cost": "accountants",
    "dask_cluster": "a cluster of processes",
    "test_scikit_learn_checks.py::test_the_others_pass_too": "seven more kinds",
    "estimators/linear/test_contract.py::test_scikit_learn_contract_of_the_others": (
        "300 checks of scikit-learn; two linear models stay in every run"
    ),
    "estimators/test_large_tables.py::test_ten_times": "hundreds of thousands of rows",
    "estimators/test_large_tables.py::test_the_test_of_memory": "hundreds of thousands of rows",
    "experiments": "small runs of all experiments",
    "ledger/test_crashes.py": "processes that are killed at every step",
    "ledger/test_estimators.py::test_a_grid_search_of_sixteen_fits_is_sixteen_charges": (
        "processes of a grid search"
    ),
    "ledger/test_postgres.py": "a database server",
    "ledger/test_races.py": "processes that race for one budget",
    "nonprivate/grouse/test_robust.py::test_wild_entries_do_little": "long streams",
    "privacy/test_slope_layers.py::test_recorded_events_cost_no_more_than_before": "accountants",
    "reports/test_browser.py": "a browser",
    "reports/test_promise.py::test_a_sampled_release_is_bounded_above_the": "accountants",
    "solvers/completion/test_als.py::test_broken_copies_are_caught": "replays",
    "solvers/completion/test_als.py::test_nothing_but_the_answers_is_used": "replays",
    "solvers/completion/test_frank_wolfe.py::test_nothing_but_the_answers_is_used": "replays",
    "solvers/linear/test_gradient_descent.py::test_a_clip_that_is_skipped_is_caught": "replays",
    "solvers/linear/test_gradient_descent.py::test_nothing_but_answers_leaves": "replays",
    "solvers/linear/test_gradient_descent.py::test_private_descent_learns": "thousands of rows",
    "solvers/linear/test_newton.py::test_replay": "replays",
    "solvers/linear/test_selection.py::test_replay": "replays",
    "solvers/linear/test_svrg.py::test_the_share_of_the_anchors_is_nearly_the_best": "accountants",
    "solvers/manifold/test_rsvrg.py": "plans of samples, which take seconds to calibrate",
    "solvers/profile/test_coverage.py": "a thousand releases, twice",
    "solvers/subspace/test_reaper.py::test_nothing_but_the_answers_is_used": "replays",
    "test_docs.py": "every block of the documentation",
    "test_site.py": "the documentation site, built",
    "test_tutorials.py": "every block of the tutorials",
    "test_worked_example.py": "a copy of the package with one estimator more",
}

# Fixed examples on every run: a red build must mean a change, not bad luck.
settings.register_profile("veilspan", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("veilspan")


FIXED = pytest.StashKey[FixedSecrets]()
KEYS = pytest.StashKey[TemporaryDirectory[str]]()


def pytest_configure(config):
    """Fix what is drawn, keep the user's keys out of it, and let Ctrl-C reach processes of tests.

    Ids of ledgers are drawn too, and are the same in every run: beside the user's own key the
    second run would find what the first one remembered of them, and take the new ledgers for old
    copies.
    A shell's background job has Ctrl-C switched off.
    """
    config.stash[FIXED] = draw_fixed_secrets(config.getoption("--draws"))
    config.stash[KEYS] = TemporaryDirectory(prefix="veilspan-keys-")
    os.environ["VEILSPAN_LEDGER_KEY_FILE"] = str(Path(config.stash[KEYS].name, "ledger.key"))
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_unconfigure(config):
    """Remove the keys of this run."""
    config.stash[KEYS].cleanup()


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="also what takes long, as .ci/run does")
    parser.addoption("--draws", type=int, default=0, help="other noise: see fixed_secrets.py")
    parser.addoption("--long", action="store_true", help="--all, and what takes minutes each")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Let every test draw the same secrets, whatever ran before it."""
    with item.config.stash[FIXED].at(item.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    """The same for what tests share, whichever of them asks for it first."""
    place = f"{fixturedef.baseid}::{fixturedef.argname}[{request.param_index}]"
    if fixturedef.scope == "function":
        place += request.node.nodeid
    with request.config.stash[FIXED].at(place):
        return (yield)


def is_left_out(item, config):
    """Whether a test is for ``--all`` or ``--long`` only."""
    if config.getoption("--long"):
        return False
    if item.get_closest_marker("long"):
        return True
    place = f"{item.path.relative_to(TESTS).as_posix()}::{item.name}"
    slow = item.get_closest_marker("slow") or place.startswith(tuple(SLOW))
    # A test that was named on the command line is wanted, whatever it takes.
    named = any(Path(word.split("::")[0]).suffix == ".py" for word in config.args)
    return bool(slow) and not config.getoption("--all") and not named


def pytest_collection_modifyitems(config, items):
    """Leave to ``run.py test --all`` what the table and the markers say."""
    later = [item for item in items if is_left_out(item, config)]
    if later:
        config.hook.pytest_deselected(items=later)
        gone = set(later)
        items[:] = [item for item in items if item not in gone]


@pytest.fixture(scope="session")
def long_run(request):
    """Whether everything is run: for tests that do more of the same then."""
    return request.config.getoption("--long")


@pytest.fixture(scope="session")
def some_of(long_run):
    """Leave one of ``every`` cases that are much alike, and all of them with ``--long``.

    ``every`` shares no factor with the length of a pattern that repeats itself, so that each kind
    of case is among those left. It defaults to four: most patterns are rows times targets, 15.
    """

    def pick(cases, every=4):
        return itertools.islice(cases, 0, None, 1 if long_run else every)

    return pick


class _Terminal(io.StringIO):
    """Text that says of itself that somebody looks at it."""

    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """``with terminal() as shown:`` makes the error stream a terminal, and keeps what it gets."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    return lambda: redirect_stderr(_Terminal())
