"""What is wrong with a table, found before anything is charged."""

from sklearn.base import OneToOneFeatureMixin, clone

from skdp._compat import safe_indexing
from skdp._estimator import PrivateEstimator
from skdp.contracts import BoundedStatistic, contract_of, parts_of
from skdp.denoising import Denoiser
from skdp.pipeline._run import mapped

__all__ = ["preview"]


def preview(steps, X):
    """Follow the rows up to the first step that spends, in every branch.

    What is raised here costs nothing: a row-wise step that fails on a row, NaN and infinity before
    the first release, parameters that do not fit the number of columns. The caller holds the data.

    Parameters
    ----------
    steps : list of (str, step)
    X : array or DataFrame
    """
    for number, (name, step) in enumerate(steps):
        if isinstance(step, str | None):
            continue
        if isinstance(step, PrivateEstimator):
            _check(name, step, X, number)
            return _check_widths(steps[number:], X.shape[1])
        parts, in_turn = parts_of(step)
        if parts is None:
            if isinstance(step, Denoiser):
                return None
            fitted = clone(step).fit(X)
            if not callable(getattr(fitted, "transform", None)):
                return None
            if _bounds(step):
                return None
            X = mapped(fitted, X)
        elif in_turn:
            preview(parts, X)
            if any(_spends(part) for _, part in parts):
                return None
            X = mapped(clone(step).fit(X), X)
        elif any(_spends(part) for _, part in parts):
            for branch in getattr(step, "transformers", None) or parts:
                columns = X
                if len(branch) == 3:
                    chosen = branch[2](X) if callable(branch[2]) else branch[2]
                    columns = safe_indexing(X, chosen, axis=1)
                preview([branch[:2]], columns)
            return None
        else:
            X = mapped(clone(step).fit(X), X)
    return None


def _check(name, step, X, number):
    """Read the rows as the step will, without fitting it."""
    twin = clone(step).set_params(ledger=None)
    try:
        twin._read(X, None)
    except ValueError as error:
        if number == 0:
            raise
        raise ValueError(
            f"the step {name!r} cannot read what the steps before it make of X: {error} Let them "
            "return numbers for every row, or set "
            'skdp.config_context(invalid_rows="ignore"), where such rows count as absent.'
        ) from None


def _check_widths(steps, n_features):
    """Check public parameters of the steps that keep the number of columns, and of the next."""
    for _, step in steps:
        if not isinstance(step, PrivateEstimator):
            return
        step._check_public(n_features)
        if not isinstance(step, OneToOneFeatureMixin):
            return


def _spends(step):
    parts, _ = parts_of(step)
    if parts is not None:
        return any(_spends(part) for _, part in parts)
    return isinstance(step, PrivateEstimator)


def _bounds(step):
    """Whether the step learns from rows without spending: it hands on a bounded statistic."""
    contract = contract_of(step)
    return contract is not None and isinstance(contract.yields(None), BoundedStatistic)
