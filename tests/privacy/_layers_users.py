"""The layers of what users bring: numbers, functions of rows, threads, tables, searches."""

import contextlib
import io
import logging
import re
import warnings
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from unittest import mock

import numpy as np
from joblib import parallel_config
from sklearn.base import clone
from sklearn.preprocessing import Binarizer, Normalizer, StandardScaler

import skdp
from skdp import (
    FriendlyCoreKMeans,
    LloydKMeans,
    PrivacyLedger,
    PrivateHistogram,
    PrivateMean,
    PrivatePipeline,
    PrivateQuantile,
    PrivateSearchCV,
    RowMap,
    make_private_pipeline,
)
from skdp.audit._checks_budget import check_prices
from skdp.audit._checks_target import check_numpy_parameters
from skdp.audit._draw import Sample
from skdp.audit._pairs import Pair
from skdp.audit._sensitivity import examine_pair
from skdp.exceptions import AuditFailure, BudgetExceeded, LowAccuracyWarning, ReleaseError
from skdp.gate._curator import Curator, replaced_curator
from skdp.mechanisms._repeats import Trials
from skdp.model_selection import RowScorer
from tests import test_curator, test_numbers, test_threads
from tests.model_selection import test_search_dry_run as test_dry_run
from tests.model_selection import test_search_leaks as test_leaks
from tests.pipeline import test_rows_by_themselves as test_rows
from tests.privacy._fits import alarms, expect, passes, table

CLEAR = {"epsilon": 4.0, "delta": 1e-6}
GAUSSIAN = {"range": (-1, 1), "bins": 4, "noise": "gaussian"}
CAPS = {"rows_per_user": np.int16(200), "rows_per_cell": np.int16(200)}
MEAN = PrivateMean(center=0.0, radius=1.0)
SEARCH = next(search for _, search in test_leaks.searches())
THREADS = (
    "test_every_worker_computes_on_one_thread_and_the_others_come_back",
    "test_limits_that_overlap_in_threads_are_taken_back",
    "test_warnings_of_other_threads_get_out_during_a_fit",
    "test_the_configuration_of_the_process_holds_in_threads_that_run_already",
)


# --- numbers


def numbers(subject):
    """S5: numpy's numbers as parameters ask for what Python's ask for, or are refused first."""
    data = Sample.of(table(n=60))
    users = Sample.of(np.column_stack([np.arange(60.0) % 7, table(n=60)[:, 0]]))
    for estimator, rows in (
        (subject.estimator, data),
        (PrivateHistogram(user=np.int8(0), **CAPS, **GAUSSIAN), users),
        (PrivateHistogram(user=0, rows_per_user=12, rows_per_cell=12, **GAUSSIAN), users),
        (LloydKMeans(3), data),
    ):
        with alarms(AuditFailure, ReleaseError):
            check_prices("it", estimator, rows)
            check_numpy_parameters("it", estimator, rows)
    passes(test_numbers.test_numbers_become_pythons_own, np.int8(100), 100, int)
    passes(test_numbers.test_parameters_of_denoisers_are_pythons_numbers)
    with alarms(OverflowError):
        for budget in test_curator.BUDGETS:
            for number in (np.int64(2**26), np.int8(100), Fraction(np.int64(2**40))):
                asked = [list(test_curator.scales(x, 0.1, budget)) for x in (number, int(number))]
                expect(asked[0] == asked[1], "numpy's numbers have a price of their own")


# --- rows by themselves


def _norms(X):
    length = np.linalg.norm(X, axis=1)
    return np.where((length > length.mean() + 3 * length.std())[:, None], 0.0, X)


def _by_the_largest(X):
    return X / (1000.0 if X.max() > 100 else 1.0)


def _by_the_first(X):
    return np.vectorize(lambda x: 1 if x > 1 else x)(X)


def _centred(X):
    return X - X.mean(axis=0)


def _in_place(X):
    X *= 2.0
    return X


def _nothing_of_far_rows(X):
    if np.any(np.abs(X) > 1e6):
        raise ValueError("far")
    return X


def rows_by_themselves(subject):
    """S8: whatever a function does, one row moves nothing by more than it declares.

    Whether a fit fails depends on no row, and the table of the user is left alone.
    """
    X = table(n=40)
    rows = [[1e3, 1e3], [0.2, 3.0], [1e9, 0.0], [np.nan, 0.0], [2.0, 2.0]]
    for step in (
        *(RowMap(f, vectorized=False) for f in (_norms, _by_the_largest, _by_the_first, _centred)),
        RowMap(_nothing_of_far_rows),
        RowMap(_in_place),
        Normalizer(),
        Binarizer(threshold=0.1),
    ):
        pipeline = make_private_pipeline(step, clone(MEAN), **CLEAR)
        for i, row in enumerate(rows):
            pair = Pair(X, np.array(row), (0, 20, 40)[i % 3], seed=i, remove=i % 2 == 1)
            with alarms(AuditFailure):
                moved = examine_pair(pipeline, pair)
            for squared, allowed in moved.values():
                expect(squared <= allowed, f"{step}: a row moves more than itself")
        before = X.copy()
        with contextlib.suppress(ValueError, ReleaseError):
            clone(pipeline).fit(X)
        expect(np.array_equal(X, before), f"{step}: the table of the user is changed")
    passes(test_rows.test_a_function_is_told_neither_the_number_nor_the_index_of_a_row)
    passes(test_rows.test_nothing_is_written_into_the_table_of_the_user)
    passes(test_rows.test_an_odd_entry_does_not_stop_a_step_of_scikit_learn, Normalizer())


# --- threads


def threads(subject):
    """S6 and S7: fits at once share no budget and no noise, and silence nobody else."""
    book = PrivacyLedger(4.5 * subject.estimator.epsilon, 0.5, composition="basic")
    X = table(n=200)

    def fit(i):
        twin = clone(subject.estimator).set_params(ledger=book)
        try:
            twin.fit(X)
        except BudgetExceeded:
            return None
        return sorted((k, repr(v)) for k, v in vars(twin).items() if k.endswith("_"))

    filters = list(warnings.filters)
    with ThreadPoolExecutor(4) as pool:
        results = [result for result in pool.map(fit, range(8)) if result is not None]
    granted = sum(entry.kind == "charge" for entry in book.entries())
    expect(granted == len(results), "fits that are not charged, or charges without a fit")
    expect(book.spent().amount <= book._capacity[0], "threads overspend")
    expect(len({str(result) for result in results}) == len(results), "threads share noise")
    expect(warnings.filters == filters, "warnings stay silenced after fits in threads")
    for name in THREADS:
        passes(getattr(test_threads, name))
    passes(test_rows.test_joblib_settings_of_the_caller_do_not_reach_the_branches)


def _error(estimator, X):
    try:
        estimator.fit(X)
    except Exception as error:
        return error
    return None


# --- refusals


def refusals(subject):
    """S6: what is wrong with parameters and schema is told first: uncharged, without an entry."""
    secret = 86243.5
    X = table(n=60)
    X[0, 0] = secret
    filtering = make_private_pipeline(skdp.FriendlyCoreFilter(), RowMap(np.abs))
    cases = [
        (make_private_pipeline(RowMap(np.abs), clone(MEAN), **CLEAR), X[:, 0]),
        (make_private_pipeline(StandardScaler(), clone(MEAN), **CLEAR), X),
        (PrivatePipeline([("a", make_private_pipeline(StandardScaler(), MEAN))], **CLEAR), X),
        (make_private_pipeline(filtering, clone(MEAN), **CLEAR), X),
        (_search(make_private_pipeline(RowMap(np.abs), skdp.PrivateStandardScaler())), X),
        (_search(FriendlyCoreKMeans(2), n_clusters=["many"]), X),
    ]
    for estimator, rows in cases:
        for mode in ("error", "ignore"):
            book = PrivacyLedger(1e3, 0.5, composition="basic")
            with skdp.config_context(invalid_rows=mode):
                error = _error(clone(estimator).set_params(ledger=book), rows)
            expect(error is not None, f"{estimator}: is not refused")
            charged = any(entry.kind == "charge" for entry in book.entries())
            expect(not charged, f"{estimator}: is refused after the charge")
            chain = f"{error} {error.__cause__} {error.__context__}"
            expect(str(secret) not in chain, f"{estimator}: the message quotes an entry")
    passes(test_rows.test_a_filter_inside_a_container_is_refused)
    passes(test_rows.test_problems_of_an_inner_pipeline_are_those_of_the_outer)
    passes(test_rows.test_tables_that_are_none_are_refused_without_their_entries)
    passes(test_rows.test_an_inner_pipeline_is_rehearsed_with_the_outer)
    passes(test_rows.test_habits_of_pandas_that_mix_no_rows_pass, lambda frame: frame)
    passes(test_rows.test_polars_columns_of_numbers_are_tried_with_numbers)
    passes(test_dry_run.test_the_dry_run_sees_columns_and_types_and_no_row)
    passes(test_dry_run.test_no_run_spends_more_than_its_part)


# --- searches


def _search(estimator, scoring=None, **candidates):
    candidates = candidates or {"random_state": [None]}
    return PrivateSearchCV(estimator, candidates, scoring=scoring, mean_trials=2, **CLEAR)


def _noisy_score(model, x, y):
    if np.any(np.abs(x) > 1e6):
        raise ValueError("far")
    return 0.0


def output_of_a_search(subject):
    """S7: neither the number of runs nor a held-out row shows: in no line, warning or failure."""
    loud = make_private_pipeline(RowMap(np.abs), clone(MEAN)).set_params(verbose=True)
    search = _search(loud, RowScorer(_noisy_score, -1.0, 0.0), verbose=[True])
    X = np.concatenate([table(n=60), np.full((40, 2), 1e7)])  # some are held out
    errors = {type(_error(clone(search), rows)).__name__ for rows in (X[:60], X)}
    expect(len(errors) == 1, "a held-out row decides whether a search ends")
    for held in (True, False):
        passes(
            test_leaks.test_a_row_on_which_a_function_fails_does_not_end_the_search, SEARCH, held
        )
    for one in (search, _search(test_leaks.loud_pipeline(), mean__n_init=[1])):
        with alarms(ReleaseError):
            few, many = (_said(one, n_runs) for n_runs in (1, 4))
        expect(few == many, "what a search prints, warns or logs tells how many runs there were")


def _said(search, n_runs):
    """Return what so many runs print, warn and log, and what numpy's generator draws after them."""
    out, logs = io.StringIO(), io.StringIO()
    handler = logging.StreamHandler(logs)
    logging.getLogger().addHandler(handler)
    np.random.seed(0)  # noqa: NPY002
    try:
        with (
            mock.patch.object(Trials, "draw", lambda self, entropy: n_runs),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(out),
            warnings.catch_warnings(record=True) as caught,
            skdp.config_context(invalid_rows="ignore", progress=True),
            parallel_config(verbose=10),
        ):
            warnings.simplefilter("always")
            warnings.simplefilter("ignore", LowAccuracyWarning)  # of the winner: released
            clone(search).fit(test_leaks.X)
    finally:
        logging.getLogger().removeHandler(handler)
    told = tuple(str(w.message) for w in caught)
    printed = re.sub(r"\d+\.\d+ ?s", "", out.getvalue())  # times vary, of the dry run too
    return printed, logs.getvalue(), told, np.random.random()  # noqa: NPY002


def prices(subject):
    """S5: every release of the estimators with choices and Laplace noise is paid for."""
    data = Sample.of(table(n=60))
    for estimator in (
        subject.estimator,
        LloydKMeans(3, delta=0.0),
        PrivateHistogram(range=(-1, 1), bins=4, noise="laplace"),
        PrivateQuantile(sensitivity=2.0, center=0.0, method="exponential", delta=0.0),
    ):
        with alarms(AuditFailure), replaced_curator(Curator):
            check_prices("it", estimator, data)


LAYERS_OF_USERS = {
    "numbers": numbers,
    "prices": prices,
    "rows by themselves": rows_by_themselves,
    "threads": threads,
    "refusals": refusals,
    "output of a search": output_of_a_search,
}
