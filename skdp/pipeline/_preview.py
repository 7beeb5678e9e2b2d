"""What is wrong with a table, found before anything is charged."""

import sklearn
from sklearn.base import clone

from skdp._unread import Unread
from skdp.contracts._chain import parts_of
from skdp.contracts._contract import contract_of
from skdp.contracts._kinds import BoundedStatistic, Joined
from skdp.denoising import Denoiser
from skdp.estimator._estimator import PrivateEstimator
from skdp.gate._curator import rehearsal_curator
from skdp.kernel._table import replaced_table
from skdp.pipeline._batched import columns_of
from skdp.pipeline._plan import allocate_budget, step_rows
from skdp.pipeline._run import mapped, run
from skdp.readers._tables import Tables
from skdp.rowwise._dummy_rows import dummy_rows
from skdp.table._batched import public_row
from skdp.table._split_target import dummy_target
from skdp.utils._config import config_context
from skdp.utils._threads import quiet

__all__ = ["preview", "rehearse"]


def rehearse(pipeline, X, y=None):
    """Fit the steps on made-up rows with the columns and types of X.

    Where a failure costs nothing.
    """
    plan, steps = allocate_budget(pipeline)
    started = []
    try:
        with (
            config_context(invalid_rows="ignore", debug=True),
            sklearn.config_context(assume_finite=True),
            quiet(),
            replaced_table(None),
        ):
            public = dummy_rows(X)
            target = None if y is None else dummy_target(pipeline, y, public.shape[0])
            view = Unread(step_rows(steps, public, target), rehearsal_curator(plan))
            run(steps, view, started=started.append, rehearsal=True)
        return
    except Exception as error:
        failure = f"{error}"
    if not started:
        raise ValueError(f"no rows can be made up to try the steps on: {failure}")
    raise ValueError(
        f"the step {started[-1]!r} cannot work on what the steps before it make of a table with "
        f"the columns and types of X: {failure}"
    )


def preview(steps, X, y=None):
    """Follow the rows up to the first step that spends, in every branch.

    What is raised here costs nothing: a row-wise step that fails on a row, NaN and infinity before
    the first release. The caller holds the data.
    """
    for number, (name, step) in enumerate(steps):
        if isinstance(step, str | None):
            continue
        if isinstance(step, PrivateEstimator):
            return _check(name, step, X, y, number)
        parts, in_turn = parts_of(step)
        if parts is None:
            if isinstance(step, Denoiser) or _learns_without_budget(step):
                return None
        elif in_turn:
            preview(parts, X, y)
        elif any(_spends(part) for _, part in parts):
            for branch in getattr(step, "transformers", None) or parts:
                preview([branch[:2]], X if len(branch) < 3 else _columns(X, branch[2]), y)
        if _spends(step):
            return None
        X = mapped(clone(step).fit(public_row(X) if isinstance(X, Tables) else X), X)
    return None


def _columns(X, chosen):
    like = public_row(X) if isinstance(X, Tables) else X
    return columns_of(X, chosen(like) if callable(chosen) else chosen)


def _check(name, step, X, y, number):
    """Read the rows as the step will, without fitting it."""
    try:
        clone(step).set_params(ledger=None)._look(X, y)
    except ValueError as error:
        if number == 0:
            raise
        failure = error
    else:
        return
    raise ValueError(
        f"the step {name!r} cannot read what the steps before it make of X: {failure} Let them "
        "return numbers for every row."
    )


def _spends(step):
    parts, _ = parts_of(step)
    if parts is not None:
        return any(_spends(part) for _, part in parts)
    return isinstance(step, PrivateEstimator)


def _learns_without_budget(step):
    """Whether the step reads several rows together without spending."""
    contract = contract_of(step)
    return contract is not None and isinstance(contract.yields(None), BoundedStatistic | Joined)
