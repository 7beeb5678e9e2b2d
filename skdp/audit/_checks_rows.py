"""Checks of what rows, numbers of rows and owners of rows may do to a fit."""

import gc
import pickle
import warnings
import weakref
from dataclasses import replace

import numpy as np
import sklearn
from sklearn.utils import get_tags

from skdp.accounting import PrivacyLedger
from skdp.audit._draw import AuditRandom, Sample
from skdp.audit._interference import compare_fits, script
from skdp.audit._observe import (
    answers,
    audited_clone,
    fitted,
    ignore_expected_warnings,
    of_whole_rows,
    reads_numbers,
    released,
    require,
    secure,
    small,
    values,
)
from skdp.audit._pairs import long_pairs
from skdp.audit._sensitivity import conditional_sensitivity, examine_pairs, sizes_of, telling_rows
from skdp.audit._tables import Table, example_groups, small_blocks, tables_like, wider
from skdp.audit._transcript import FixedKeys
from skdp.exceptions import BudgetExceeded
from skdp.utils._config import config_context

MAY_BE_INFINITE = (
    "noise_scale_",
    "likelihood_scale_",
    "likelihood_excess_",
    "least_squares_scale_",
    "least_squares_excess_",
    "clipping_bias_bound_",
    "core_noise_scale_",
    "term_noise_scale_",
    "feature_range_",
    "error_scale_",
    "median_",
    "target_range_",
    "risk_estimate_",
)  # "nothing is known" is an answer
# NaN there: any number would be taken for one
METRICS = ("scores_", "roc_auc_", "brier_score_", "log_loss_", "coverage_", "quantile_losses_")
METRICS += ("mean_absolute_error_", "mean_squared_error_", "r2_", "residual_quantiles_")
SURVIVAL = "survival_function_", "cumulative_hazard_", "at_risk_", "median_", "n_events_"
MAY_BE_UNKNOWN = "correlation_", "inertia_", "hazard_ratios_", *SURVIVAL, *METRICS

SHORT = 2**20  # whole numbers below it are found by chance


def check_invalid_rows_are_absent(name, estimator, data):
    """Check that a row with NaN or infinity is no row, under every switch (row 1)."""
    if get_tags(estimator).input_tags.allow_nan or not reads_numbers(estimator):
        return  # NaN is a value to it
    rows = small(data)
    floats = [j for j in range(rows.n_features) if rows.kind(j) == "f"]
    if not floats:
        return
    bad, keys, valid = (
        rows,
        AuditRandom("keys").words(len(rows) + 3),
        np.ones(len(rows) + 3, dtype=bool),
    )
    for i, x in zip((0, len(rows) // 2, len(rows)), (np.nan, np.inf, -np.inf), strict=True):
        bad = bad.inserted(i, rows.take([0]).replaced(floats[-1], [x]))
        valid[i] = False
    good = bad.take(np.flatnonzero(valid))
    for switch, context in {
        "invalid_rows='ignore'": config_context(invalid_rows="ignore"),
        "assume_finite": sklearn.config_context(assume_finite=True),
    }.items():
        with context:
            got = values(estimator, bad, FixedKeys(keys))
            want = values(estimator, good, FixedKeys(keys[valid]))
        same = of_whole_rows(got) == of_whole_rows(want)
        require(same, f"{name}: a row with NaN counts under {switch}.")


def hostile_tables(data):
    """Yield (name, sample): few rows, many columns, degenerate columns, the ends of float64."""
    yield "no rows", data.take([])
    yield "one row", data.take([0])
    yield "two rows", data.take([0, 1])
    yield "rows all alike", data.take(np.zeros(50))
    for kind, X in _hostile_numbers(data.X) if data.is_numeric else ():
        n = len(X)
        yield kind, Sample(X, None if data.y is None else np.resize(data.y, n))


def _hostile_numbers(X):
    d = X.shape[1]
    yield "zeros", np.zeros((50, d))
    yield "constant columns", np.where(np.arange(d) == d - 1, X, 7.0)
    yield "collinear columns", X[:, :1] * np.arange(1.0, d + 1)
    yield "the largest floats", np.full((50, d), np.finfo(float).max)
    yield "both ends", np.where(np.arange(50)[:, None] % 2, 1.0, -1.0) * np.full((50, d), 1e308)
    yield "subnormal numbers", np.full((50, d), 5e-324)
    yield "one huge row", np.concatenate([X, np.full((1, d), 1e300)])
    yield "more columns than rows", np.tile(X[:3], 5)


def check_always_answers(name, estimator, data):
    """Check that degenerate tables give finite answers without a word (2, 3, 4, 19, 20)."""
    for kind, rows in hostile_tables(small(data)):
        if rows.n_features != data.n_features and not answers(estimator, rows):
            continue  # 10 bins in 15 columns are too many
        with ignore_expected_warnings(), config_context(invalid_rows="ignore"):
            warnings.filterwarnings("error", category=RuntimeWarning)
            try:
                fit = rows.fit(audited_clone(estimator))
            except Exception as error:
                text = f"{name}: {kind}: the fit raises {type(error).__name__}."
            else:
                text = None
        require(text is None, text)
        for attribute, value in released(fit).items():
            try:
                numbers = np.asarray(value)
            except ValueError:
                continue
            if numbers.dtype.kind not in "fiub":
                continue
            unknown = np.isnan(numbers)
            fine = attribute in MAY_BE_UNKNOWN or not unknown.any()
            if not attribute.endswith(MAY_BE_INFINITE):
                fine = fine and np.isfinite(numbers[~unknown]).all()
            require(fine, f"{name}: {kind}: {attribute} is not finite.")


def check_types_and_layouts(name, estimator, data):
    """Check that equal rows give equal values in any type, layout and order (6, 8, 25)."""
    data = small(data)
    keys = AuditRandom("keys").words(len(data))
    if data.is_numeric:
        data = data.having(np.rint(np.clip(data.X, -100, 100)))
    want = values(estimator, data, FixedKeys(keys))
    types = reads_numbers(estimator)
    for kind, twin in _same_numbers(data.X, types) if data.is_numeric else ():
        got = values(estimator, data.having(twin), FixedKeys(keys))
        require(got == want, f"{name}: {kind} changes a value.")
    order = AuditRandom("order").sample(len(data), len(data))
    got = values(estimator, data.take(order), FixedKeys(keys[order]))
    require(got == want, f"{name}: the order of the rows changes a value.")


def _same_numbers(X, types):
    frozen = X.copy()
    frozen.flags.writeable = False
    for dtype in ("int64", "float32", "float16") if types else ():
        yield dtype, X.astype(dtype)
    yield "column-major", np.asfortranarray(X)
    yield "strided", np.repeat(X, 2, axis=0)[::2]
    yield "read-only", frozen
    yield "big-endian", X.astype(">f8")


def check_no_row_is_stored(name, estimator, data):
    """Check that no entry is in pickle, repr or HTML, in any usual form (rows 21, 22)."""
    for rows in _canaries(small(data)):
        fit = fitted(estimator, rows)
        blob = pickle.dumps(fit)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text = repr(fit) + fit._repr_html_() + str(fit.privacy_report_)
        for j in range(rows.n_features):
            for x in rows.column(j) if rows.kind(j) in "fi" else ():
                if isinstance(x, float) or abs(x) >= SHORT:
                    found = any(form in blob for form in _forms(x)) or repr(x) in text
                    require(not found, f"{name}: an entry of the table survives the fit.")


def _canaries(data):
    """Yield samples with entries that are found again."""
    draw, shape = AuditRandom("canary"), (len(data), data.n_features)
    floats = np.ldexp(1 + draw.uniform(shape), 3)
    if data.is_numeric:
        yield data.having(floats)
        yield data.having(floats.astype(np.float32))
        yield data.having(2**40 + draw.below(2**40, shape).astype(np.int64))
        return
    for j in range(data.n_features):
        data = data.replaced(j, floats[:, j]) if data.kind(j) == "f" else data
    if any(data.kind(j) == "f" for j in range(data.n_features)):
        yield data


def _forms(x):
    """Yield the bytes of a number as arrays and pickles hold it."""
    yield from (np.float64(c * x).tobytes() for c in (1.0, -1.0, 0.5, 2.0))
    yield from (np.float32(x).tobytes(), np.array(x).tobytes())


def check_rows_left_alone(name, estimator, data):
    """Check that a fit neither writes to its table nor keeps it alive (rows 8, 21)."""
    before = data.take(np.arange(len(data)))
    rows = before.take(np.arange(len(data)))
    fit = fitted(estimator, rows)
    for j in range(data.n_features):
        same = repr(rows.column(j)) == repr(before.column(j))
        require(same, f"{name}: a fit changes its table.")
    require(np.array_equal(rows.y, before.y), f"{name}: a fit changes its targets.")
    reference = weakref.ref(rows.X)
    del rows
    gc.collect()
    require(reference() is None, f"{name}: a fit keeps its table alive.")
    require(hasattr(fit, "privacy_report_"), f"{name}: there is no report.")


def check_frame_index_not_stored(name, estimator, data):
    """Check that column names are kept, and the index of a frame is not (rows 7, 26)."""
    try:
        import pandas as pd
    except ImportError:
        return
    data = small(data)
    if not (data.is_numeric or hasattr(data.X, "iloc")):
        return
    columns = [f"column {j}" for j in range(data.n_features)]
    frame = pd.DataFrame(data.X, columns=columns) if data.is_numeric else data.X.copy()
    frame.index = [f"person-{i}-86243" for i in range(len(data))]
    fit = fitted(estimator, data.having(frame))
    require(b"-86243" not in pickle.dumps(fit), f"{name}: the index of a frame survives the fit.")
    names = list(fit.feature_names_in_)
    require(names == list(frame.columns), f"{name}: column names are lost.")
    gaps = get_tags(estimator).input_tags.allow_nan
    if gaps or not (data.is_numeric and reads_numbers(estimator)):
        return
    frame = data.joined(data.take([0])).having(np.concatenate([data.X, data.X[:1]]))
    nullable = pd.DataFrame(frame.X, columns=columns).astype("Float64")
    nullable.iloc[-1, 0] = pd.NA
    with config_context(invalid_rows="ignore"):
        got, want = (values(estimator, rows) for rows in (frame.having(nullable), data))
    same = of_whole_rows(got) == of_whole_rows(want)
    require(same, f"{name}: a row with NA counts.")


CANARY = "86243-owner"


def check_ledger_of_groups(name, estimator, data):
    """Check that a ledger of groups pays for fits with groups, and refuses those of rows."""
    if "ledger" not in estimator.get_params():
        return
    data = small(data)
    ledger = PrivacyLedger(epsilon=1e6, composition="basic", delta=0.9, unit="group")
    with ignore_expected_warnings():
        fit = data.fit(secure(estimator, ledger=ledger.noted("of groups")))
        require(len(ledger.entries()) == 2, f"{name}: a fit with groups is not one charge.")
        require(ledger.entries()[-1].note == "of groups", f"{name}: a charge has lost its note.")
        try:
            replace(data, groups=None).fit(secure(estimator, ledger=ledger))
        except BudgetExceeded:
            pass
        else:
            require(False, f"{name}: a ledger of groups pays for a fit that protects rows.")
    require(ledger.report().latched, f"{name}: a fit that protects rows leaves no refusal.")
    require(fit.privacy_report_.privacy_unit == "group", f"{name}: the report names another unit.")


def check_no_owner_is_stored(name, estimator, data):
    """Check that no entry of groups is in pickle, repr, HTML or report, nor how many there are."""
    data = small(data)
    owners = np.array([f"{CANARY}-{owner}" for owner in data.groups])
    for groups in (owners, owners.astype(object)):
        fit = fitted(estimator, replace(data, groups=groups))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text = repr(fit) + fit._repr_html_() + str(fit.privacy_report_)
        found = CANARY.encode() in pickle.dumps(fit) or CANARY in text
        require(not found, f"{name}: an entry of groups survives the fit.")


def check_one_owner_answers(name, estimator, data):
    """Check that a fit answers where all rows are those of one, and where each has another."""
    for groups in (np.zeros(len(data)), np.arange(len(data))):
        fit = fitted(estimator, replace(data, groups=groups))
        require(hasattr(fit, "privacy_report_"), f"{name}: there is no report.")


LONG, N_LONG = 5000, 16
FULL = 63, 127, 255  # rows that few bits count
VERY_LONG, N_VERY_LONG = 2**15 - 1, 2  # sixteen bits
WIDTHS = {1: 12, 2: 6, 8: 12, 40: 6, 100: 2}  # columns -> pairs
BUDGETS = ({"epsilon": 0.01}, {"delta": 0.0})
N_PAIRS = 12  # of other budgets, and of persons
FEW = 4  # tables for the first layer


def check_long_tables(name, estimator, data):
    """Check both layers on tables of thousands of rows, in several blocks too (8, 12)."""
    draw = AuditRandom("long tables")
    with small_blocks():
        examine_pairs(estimator, lambda worst: long_pairs(data, LONG, N_LONG, draw))
    sizes = [VERY_LONG, *sizes_of(estimator, VERY_LONG)]
    for n in (*FULL, *sizes[-2:]):
        examine_pairs(estimator, lambda worst, n=n: long_pairs(data, n, N_VERY_LONG, draw))
    tables = [Table("the table", data)]
    tables += [Table(f"{n} rows", data.take(np.resize(np.arange(len(data)), n))) for n in sizes]
    compare_fits(estimator, tables, [script(estimator, data, 0, 0)])


def check_wide_tables(name, estimator, data):
    """Check both layers on tables of one column and of many, where that is allowed (1 to 25)."""
    for d, n_pairs in WIDTHS.items():
        if d == data.n_features:
            continue
        rows = wider(data, d)
        if answers(estimator, rows):
            _both_layers(estimator, rows, n_pairs)


def check_other_budgets(name, estimator, data):
    """Check both layers at a small epsilon, and without a delta where that is allowed (9)."""
    for params in BUDGETS:
        if not params.keys() <= estimator.get_params().keys():
            continue
        twin = audited_clone(estimator, **params)
        if params.items() <= estimator.get_params().items() or not answers(twin, data):
            continue
        _both_layers(twin, data, N_PAIRS)


def check_persons(name, estimator, data):
    """Check both layers with all rows of a person for one, where that is allowed (1 to 25)."""
    rows = replace(data, groups=example_groups(len(data)))
    if data.groups is None and answers(estimator, rows):
        _both_layers(estimator, rows, N_PAIRS)


def _both_layers(estimator, data, n_pairs):
    few = small(data, 200)
    tables = tables_like(few)
    step = max(1, len(tables) // FEW)
    compare_fits(estimator, tables[::step], [script(estimator, few, 0, 0)])
    numbers = (
        None if data.groups is not None else telling_rows(estimator, data, AuditRandom("telling"))
    )
    conditional_sensitivity(estimator, data, groups=data.groups, n_pairs=n_pairs, rows=numbers)
