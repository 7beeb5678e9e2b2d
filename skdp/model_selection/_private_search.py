"""PrivateSearchCV, the estimator."""

import math
from dataclasses import replace
from functools import partial
from numbers import Integral, Real

import numpy as np
from joblib import parallel_config
from sklearn.base import MetaEstimatorMixin
from sklearn.utils import get_tags

from skdp.accounting import Plan, Step
from skdp.estimator._estimator import PrivateEstimator
from skdp.exceptions import PlanError
from skdp.gate._curator import current_replacement, replaced_curator
from skdp.kernel._table import annex
from skdp.mechanisms._repeats import trials_of
from skdp.model_selection._budgets import ALONE, least_rows, search_budgets
from skdp.model_selection._curator import (
    SearchCurator,
    candidates_of,
    check_runs,
    dry_run,
    model_of,
    refuse_frozen,
)
from skdp.model_selection._runs import (
    Runs,
    Table,
    classes_of,
    counted,
    in_memory,
    is_plain,
    of_doubles,
    reads_numbers,
    split,
    targets_of,
)
from skdp.model_selection._scoring import SCORERS, ReportScorer, own_scorer_notes, scorer_of
from skdp.model_selection._winner import WinnerMixin
from skdp.readers._tables import tables_of
from skdp.table._groups import read_groups
from skdp.table._split_target import split_target
from skdp.utils._compat import HasMethods, Interval, StrOptions
from skdp.utils._config import config_context
from skdp.utils._numbers import stores_parameters
from skdp.utils._warnings import accuracy_warnings

BY_GROUPS = "groups: held out as a whole, and scored by one drawn row of each; cost as for rows"
LAWS = {"geometric": 1.0, "logarithmic": 0.0, "poisson": math.inf}


class PrivateSearchCV(WinnerMixin, MetaEstimatorMixin, PrivateEstimator):
    """Choose parameters privately, by their scores on rows held out (no cross-validation).

    Candidates are drawn at random, with replacement, a random number of times. Each is fitted on
    the training rows and scored, with noise, on the held-out rows; only the best one is published:
    neither the others, nor how many there were. So the guarantee is close to that of a single run
    [1]_ [2]_, where a grid search pays for every candidate.

    Parameters
    ----------
    estimator : PrivateEstimator
        Cloned for every run; its ``epsilon``, ``delta``, ``random_state`` and ``ledger`` are
        replaced by those of the run. Runs are silent, in one thread and in memory: in all that is
        inside it ``verbose`` is False, ``n_jobs`` 1 and ``memory`` None.
    param_distributions : dict of str to list or distribution, or list of such dicts
        Candidates, as for :class:`sklearn.model_selection.RandomizedSearchCV`: lists of values,
        and distributions with a method ``rvs``. They must not be chosen by looking at the rows,
        and may be many. The first four parameters above are refused.
    n_candidates : int, default=100
        Number of candidates that are drawn beforehand, publicly and from a fixed seed, if there
        are distributions. Lists alone are a grid, which is taken whole.
    scoring : str or scorer, default=None
        What is best: "roc_auc", "neg_brier_score", "neg_mean_absolute_error" or "r2", of a report
        of the held-out rows (:class:`skdp.model_selection.ReportScorer`); "accuracy",
        "neg_log_loss", "neg_squared_error", "log_density", "distance", means over these rows; or a
        scorer of :mod:`skdp.model_selection`. By default the area under the ROC curve for
        classifiers, or accuracy if they have no probabilities, squared error for regressors,
        log-density for estimators with ``score_samples``, distance for all others.
    n_trials : {"geometric", "logarithmic", "poisson"} or float >= 0, default="geometric"
        The law of the number of runs: truncated negative binomial with this eta (1 and 0 have
        names), or Poisson. A smaller eta costs less and varies more; Poisson varies least and may
        come to no run: then the first candidate is fitted to no rows.
    mean_trials : float, default=10
        Mean number of runs, in (1, 1000].
    holdout : float in (0, 1), default=0.3
        Part of the rows that scores are taken of, a coin for each row.
    min_rows : int or "auto", default="auto"
        Number of rows, or persons, below which there is no search, by a count with noise: the
        estimator is fitted as it is, to all rows, with nearly the whole budget. Of public classes
        with parts p rows count as ``4 p (1 - p)`` rows. "auto" is what a search of classifiers and
        regressors needs to be no worse than that (user guide "Private search"), and 0 for all
        others; with 0 there is always a search.
    reference_share : float in (0, 1), default=0.1
        Part of the budget for what scores are compared with, where the scorer needs it: the first
        candidate, fitted once before the runs, and the scale of its distances.
    epsilon : float, default=1.0
        Privacy parameter of the whole search, > 0.
    delta : float, default=1e-6
        Privacy parameter of the whole search in [0, 1). With 0 all runs are pure, where the
        estimator has a pure variant.
    random_state : int, RandomState instance or None, default=None
        None draws noise from the operating system. Anything else makes the result reproducible
        and not private: for tests and documentation.
    ledger : PrivacyLedger, default=None
        A budget that all fits share. The whole search is charged before the rows are read. With
        ``delta > 0`` a ledger with Gaussian composition takes it at the price of a Gaussian that
        it nearly is: cheap for a small epsilon and a very small delta (user guide "A budget for
        a study").

    Attributes
    ----------
    best_estimator_ : estimator
        The winner, fitted on the training rows. Its own ``privacy_report_`` speaks of one run.
    best_params_ : dict
        Its candidate; empty if there was no search.
    best_index_ : int
        Its number in ``ParameterGrid(param_distributions)``, or with distributions in
        ``ParameterSampler(param_distributions, n_candidates, random_state=0)``; -1 if there was no
        search.
    best_score_ : float
        Its noisy score, in the units of the scorer. As the best of several it is optimistic. NaN
        if there was no search, or nothing is known of any score.
    best_report_ : PrivateClassifierReport or PrivateRegressionReport
        Of a scorer that makes one: the report of the winner on the held-out rows, as optimistic as
        ``best_score_``. None if there was no search.
    privacy_report_ : PrivacyReport
        The bill and the guarantee.
    classes_ : ndarray of shape (n_classes,)
        The classes that the winner knows, of a classifier.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    skdp.PrivacyLedger : Counts what an ordinary grid search costs.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row, the search
    included; the number of rows is private. A row is either a training row, and moves the model,
    or held out, and moves the score: a run costs as much as the dearer of the two. The cost of the
    best of a random number of runs is computed from the exact privacy curve of the Gaussian
    releases of a run, and is less than that of the Rényi accounting of [2]_; proofs: user guide
    "Private search". There is no ``cv_results_``: it would have to be paid for.

    Before anything is charged the candidates are fitted and scored on made-up rows with the columns
    and types of X; of those that differ in numbers only, the ones with the least and largest
    numbers.

    What comes in pieces stays where it is: runs read views of it. In memory are the numbers of all
    rows, their keys, and two numbers for each row that is held out.

    Not private: the run time, which tells the number of runs, and whatever functions of the user
    (of a RowMap, of a RowScorer) do besides returning a result, as they are called in every run;
    predictions for given rows; and candidates that were chosen by looking at the data.

    References
    ----------
    .. [1] Liu, Talwar. "Private selection from private candidates". STOC 2019.
    .. [2] Papernot, Steinke. "Hyperparameter tuning with Rényi differential privacy". ICLR 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateGMM
    >>> from skdp.model_selection import PrivateSearchCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3000, 2)) + rng.choice([-50.0, 50.0], size=(3000, 1))
    >>> candidates = {"n_components": [1, 2, 3], "covariance_type": ["diag", "spherical"]}
    >>> search = PrivateSearchCV(PrivateGMM(n_init=1), candidates, epsilon=2.0, mean_trials=5)
    >>> search.plan().assumptions[2]
    'number of runs: geometric, 5 on average, at most 161'
    >>> sorted(search.fit(X).best_params_)
    ['covariance_type', 'n_components']
    """

    _parameter_constraints: dict = {
        **{k: v for k, v in PrivateEstimator._parameter_constraints.items() if k != "n_jobs"},
        "estimator": [HasMethods(["fit", "plan", "get_params", "set_params"])],
        "param_distributions": [dict, list, tuple],
        "scoring": [StrOptions(set(SCORERS)), HasMethods(["prepare", "value"]), None],
        "n_candidates": [Interval(Integral, 1, None, closed="left")],
        "n_trials": [StrOptions(set(LAWS)), Interval(Real, 0, 100, closed="both")],
        "mean_trials": [Interval(Real, 1, 1000, closed="right")],
        "holdout": [Interval(Real, 0, 1, closed="neither")],
        "min_rows": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "reference_share": [Interval(Real, 0, 1, closed="neither")],
    }

    @stores_parameters
    def __init__(
        self,
        estimator,
        param_distributions,
        *,
        n_candidates=100,
        scoring=None,
        n_trials="geometric",
        mean_trials=10,
        holdout=0.3,
        min_rows="auto",
        reference_share=0.1,
        epsilon=1.0,
        delta=1e-6,
        random_state=None,
        ledger=None,
    ): ...

    def fit(self, X, y=None, *, groups=None):
        """Search on private rows and release the winner.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The private rows. Read, never stored. A DataFrame stays one in every run.
        y : array-like of shape (n_samples,), default=None
            Private targets; ignored where neither scorer nor estimator uses them.
        groups : array-like of shape (n_samples,) or str, default=None
            Whose row each row is: protects persons in place of rows. Persons are held out whole.

        Returns
        -------
        self : object
            Fitted estimator; ``privacy_report_`` is the bill.

        Raises
        ------
        ValueError
            For impossible candidates, budgets or tables, before anything is charged.
        BudgetExceeded
            If the ledger cannot grant the search; before the release reads anything.
        ReleaseError
            If the private part fails; the message is constant and the budget stays spent.
        """
        self._validate_params()
        with self._curators():
            return super().fit(X, y, groups=groups)

    def _curators(self):
        return replaced_curator(partial(SearchCurator, make=current_replacement()))

    def plan(self):
        """Return what a search costs, and why, without any data.

        Returns
        -------
        plan : Plan
            Its notes tell the budget of a run and the law of the number of runs.

        Raises
        ------
        ValueError
            If the search would cost more than all of its ledger; the message offers another one.
        """
        if self.ledger is None and getattr(self.estimator, "ledger", None) is not None:
            raise ValueError(
                "the estimator of a search has a ledger, which its runs do not charge. Pass "
                "ledger= to the search, which is charged as a whole."
            )
        refuse_frozen(self.estimator)
        candidates, budgets = self._planned()
        check_runs(self.estimator, candidates, budgets.run)
        if budgets.reference is not None:
            check_runs(self.estimator, candidates[:1], budgets.reference)
        notes = budgets.notes(len(candidates), self._trials(), self.holdout)
        if budgets.alone is not None:
            check_runs(self.estimator, [{}], budgets.alone)
            notes = (*notes, budgets.alone_note(self._least()))
        if self._is_granted():
            raise PlanError(
                "a search cannot be a step of a pipeline: its cost does not add up with that of "
                "other steps. Search over the whole pipeline instead."
            )
        if self.ledger is not None:
            self.ledger.price(budgets.total)  # or ValueError, with a ledger that has one
        return Plan(
            self._budget(lambda epsilon, delta: budgets.total),
            (Step("search", "repeat"),),
            assumptions=(*notes, *own_scorer_notes(self.scoring)),
        )

    def _grouped_plan(self):
        plan = self.plan()
        return replace(plan, assumptions=(*plan.assumptions, BY_GROUPS), privacy_unit="group")

    def _persons(self, groups, rows):
        persons = read_groups(groups, len(rows))
        candidates, budgets = self._planned()
        some = Table(rows.head(), rows.targets(np.arange(0)), numbers=rows.numbers, persons=persons)
        scorer = scorer_of(self.scoring, self.estimator)
        dry_run(some, budgets, scorer, self.estimator, candidates[:1])
        return persons

    def _of_persons(self, persons, rows, curator):
        with config_context(invalid_rows="ignore"):
            return rows.of(persons), curator, {}

    @property
    def _needs_rows(self):
        """Whether scores or estimators are functions of a user: a Table runs none."""
        return not is_plain(self)

    @property
    def _target(self):
        """What y is to the estimator: None, "number" or "class"."""
        return getattr(self.estimator, "_target", None)

    def _read(self, X, y):
        candidates, budgets = self._planned()
        scorer = scorer_of(self.scoring, self.estimator)
        first = model_of(self.estimator, candidates[0], budgets.run, None)
        uses_target = scorer.uses_target or get_tags(self.estimator).target_tags.required
        X, y = split_target(X, y) if uses_target else (X, None)
        tables = tables_of(X)
        X = X if tables is None else counted(self, tables)
        target = targets_of(X, y, first) if uses_target else None
        numbers = reads_numbers(first, X, target)
        X = in_memory(self, X, numbers) if tables is None else of_doubles(tables)
        table = Table(X, target, numbers=numbers, search=self._search)
        dry_run(table, budgets, scorer, self.estimator, candidates)
        return table

    def _release(self, table):
        """Return what a search tells of its winner: all trials are behind the table."""
        candidates, budgets = self._planned()
        scorer = scorer_of(self.scoring, self.estimator)
        if not self._needs_rows:
            index, score, seed, released, told = table.search()
        else:
            rows, curator = annex(table)  # scores and estimators are functions of a user
            index, score, seed, released, told = rows.search(curator)
        alone = index < 0
        params, budget = ({}, budgets.alone) if alone else (candidates[index], budgets.run)
        winner = model_of(self.estimator, params, budget, seed)
        vars(winner).update(released)
        fitted = {
            "best_estimator_": winner,
            "best_params_": dict(params),
            "best_index_": index,
            "best_score_": float(scorer.value(score)),
        }
        if isinstance(scorer, ReportScorer):
            fitted["best_report_"] = scorer.released_report(winner, told, budget, seed)
        return fitted

    def _search(self, table, curator):
        candidates, budgets = self._planned()
        with config_context(invalid_rows="ignore"), parallel_config(n_jobs=1, verbose=0):
            runs = Runs(table, curator, *split(table, curator.coins, self.holdout))
            scorer = scorer_of(self.scoring, self.estimator)
            model = partial(model_of, self.estimator)
            told = self._least(), classes_of(self.estimator), budgets.count
            if budgets.alone is not None and runs.few(*told):
                curator.decide(ALONE)
                return runs.alone(budgets, model)
            return runs.winner(scorer, candidates, budgets, self._trials(), model)

    def _accuracy_warnings(self):
        """Return the doubts of the winner, whose report is released; others never tell theirs."""
        report = getattr(self.best_estimator_, "privacy_report_", None)
        return () if report is None else accuracy_warnings(report)

    def _trials(self):
        return trials_of(float(LAWS.get(self.n_trials, self.n_trials)), float(self.mean_trials))

    def _planned(self):
        """Return the candidates, and what a search of them costs."""
        candidates = candidates_of(self.param_distributions, self.n_candidates)
        needed = scorer_of(self.scoring, self.estimator).needs_reference
        share, counted = float(self.reference_share) if needed else 0.0, self._least() > 0
        size = len(candidates)
        budgets = search_budgets(self.epsilon, self.delta, self._trials(), size, share, counted)
        return candidates, budgets

    def _least(self):
        """Return from how many rows on there is a search."""
        if self.min_rows != "auto":
            return self.min_rows
        kind = get_tags(self.estimator).estimator_type
        return least_rows(self.epsilon, self.delta) if kind in ("classifier", "regressor") else 0

    def __sklearn_tags__(self):
        """Return the tags of scikit-learn: the kind of estimator is that of the winner."""
        tags = super().__sklearn_tags__()
        if not hasattr(self.estimator, "__sklearn_tags__"):
            return tags  # what is wrong with it is told by fit
        inner = get_tags(self.estimator)
        tags.estimator_type, tags.target_tags = inner.estimator_type, inner.target_tags
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.transformer_tags, tags.input_tags = inner.transformer_tags, inner.input_tags
        return tags
