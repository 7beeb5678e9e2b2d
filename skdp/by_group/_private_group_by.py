"""PrivateGroupBy: one fit for each level of a column or two, all of them for the price of one."""

from functools import partial
from numbers import Integral

import numpy as np
import sklearn
from joblib import parallel_config
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp._unread import side_by_side
from skdp.accounting import part_of
from skdp.by_group._keys import (
    Keys,
    RoutesRows,
    levels_as_keys,
    listed,
    merged,
    ordered,
    places_of,
)
from skdp.by_group._plan import (
    GROUPS,
    LEVELS,
    LEVELS_SHARE,
    MOST_LEVELS,
    NAMES,
    allocate_budget,
    enough_levels,
    planned,
)
from skdp.by_group._rows import GroupedRows, GroupViews, numbered, of_columns
from skdp.estimator._estimator import PrivateEstimator
from skdp.estimator._results import COLUMNS, lines_of, long_format, n_values
from skdp.exceptions import PlanError
from skdp.readers import ArrayRows
from skdp.readers._tables import Tables, tables_of
from skdp.table._batched import with_current_config
from skdp.table._groups import read_groups
from skdp.table._schema import look_at, validated_table
from skdp.table._split_target import final_step, split_target
from skdp.table._supervised import checked_target
from skdp.utils._compat import HasMethods, Interval, StrOptions, safe_indexing
from skdp.utils._config import config_context
from skdp.utils._numbers import stores_parameters

NOBODY = "no group exceeds the noise. Pass levels=[...] if they are public, or use a larger epsilon"

ALONE = "by= is for a fit of its own. Inside another estimator use PrivateGroupBy({name}(...), by)."
KEPT = "privacy_report_", "n_features_in_", "feature_names_in_"


class PrivateGroupBy(RoutesRows, PrivateEstimator):
    """One copy of an estimator for each level of one or two columns, for the price of one.

    A row is in one group, so all groups together cost what one of them costs (parallel
    composition): twelve means, one for each carrier, one line in the ledger.

    Parameters
    ----------
    estimator : estimator of skdp
        Or a PrivatePipeline. Each group gets a clone of it, which is given the rows of the group
        without the columns of ``by``. Its ``epsilon``, ``delta``, ``random_state`` and ``ledger``
        are not used; ``delta=0`` chooses its pure variant.
    by : str, int or list of one or two
        Names of columns, or their numbers from 0 on; a public choice. They hold text, categories,
        truth values or numbers.
    levels : list, default=None
        Public levels, of two columns pairs of them. Each is fitted, whether rows have it or not;
        rows with another key, or none, are in no group. None finds levels privately, for a tenth
        of the budget: those of about 80 rows or more with epsilon = 1 and delta = 1e-6; with
        ``groups`` those in which so many persons have most of their rows.
    epsilon : float, default=1.0
        Privacy parameter, > 0, of all groups together.
    delta : float, default=1e-6
        Privacy parameter in [0, 1).
    levels_per_group : int or "auto", default=1
        In how many levels a person counts at most, for a fit with ``groups``: those of most of its
        rows, of equally many ones that secret keys draw. 1 is for levels that a person has one of
        (sex, home): all levels together cost what one costs. k levels cost k fits: each has a k-th
        of the budget. ``"auto"`` finds the number of levels that is enough for 95 % of the persons
        by up to five private counts, for a twentieth of the budget. Ignored without ``groups``.
    random_state : int, RandomState instance or None, default=None
        None draws noise from the operating system. Anything else makes the result reproducible
        and not private: for tests and documentation. The noise of a group depends on the seed and
        on its level alone, and no two groups share any.
    ledger : PrivacyLedger, default=None
        A budget that all fits share. The whole plan is charged once, before the rows are read.

    Attributes
    ----------
    levels_ : list
        The levels, given or found, in order; of two columns pairs.
    estimators_ : dict
        The fitted estimator of each level; its ``privacy_report_`` is the bill of its group.
    levels_per_group_ : int
        After a fit with ``groups``: in how many levels a person counts at most, given or released.
    key_columns_ : tuple of int
        Places of the columns of ``by``.
    privacy_report_ : PrivacyReport
        The bill and the guarantee of all groups together. Shares of the lines of one group add up
        to at most what all groups pay once.
    n_features_in_ : int
        Number of columns of X, those of ``by`` among them.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    PrivatePipeline : Steps one after the other, which do add up.
    MarginalReleaser : Counts of cells of several columns.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row, whatever
    column of it is private, the key too. Proof: user guide "By group". Replacing a row whose key
    changes too counts as one row removed and one added, as everywhere. Not private: ``by``,
    ``levels``, and ``predict`` of the training rows.

    Groups do not know of each other: small ones have as much noise as large ones, and each may
    say that its accuracy is low.

    With ``groups`` one person, with all rows, is protected. A person counts in
    ``levels_per_group`` levels, by all rows that it has there; its own rows decide which these
    are. Rows of other levels count nowhere. ``rows_per_group`` of the estimator says
    how much the rows of a person count in one level.

    Of a table in memory, and of a memory map, the rows of one group at a time are copied, and keys
    of 8 bytes a row are held. What comes in pieces is read once for all groups that wait for rows,
    64 at a time.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateGroupBy, PrivateMean
    >>> rng = np.random.default_rng(0)
    >>> team, wage = rng.integers(3, size=6000), rng.normal(size=6000)
    >>> X = np.column_stack([team, 10.0 * team + wage])
    >>> means = PrivateGroupBy(PrivateMean(), by=0, levels=[0, 1, 2]).fit(X)
    >>> [round(float(means.estimators_[team].location_[0])) for team in means.levels_]
    [0, 10, 20]
    """

    _parameter_constraints: dict = {
        **PrivateEstimator._parameter_constraints,
        "estimator": [HasMethods(["fit", "plan", "get_params", "set_params"])],
        "by": [str, int, list, tuple],
        "levels": ["array-like", None],
        "levels_per_group": [
            Interval(Integral, 1, MOST_LEVELS, closed="both"),
            StrOptions({"auto"}),
        ],
    }
    _required_parameters = ["estimator", "by"]

    @stores_parameters
    def __init__(
        self,
        estimator,
        by,
        levels=None,
        *,
        epsilon=1.0,
        delta=1e-6,
        levels_per_group=1,
        random_state=None,
        ledger=None,
    ): ...

    def plan(self):
        """Return who spends what, without any data.

        Returns
        -------
        plan : Plan
            Of all groups: that of one of them, and of the selection of levels that are not public.
        """
        self._validate_params()
        self._given_keys()
        return planned(self)[0]

    def _grouped_plan(self):
        self._validate_params()
        self._given_keys()
        return planned(self, grouped=True)[0]

    def _persons(self, groups, rows):
        return read_groups(groups, len(rows))

    def _of_persons(self, persons, rows, curator):
        return rows.of(persons), curator, {}

    @property
    def _target(self):
        """What y is to the estimator: None, "number" or "class"."""
        return getattr(self.estimator, "_target", None)

    def _given_keys(self):
        columns = listed(self.by)
        return None if self.levels is None else levels_as_keys(self.levels, len(columns))

    def _threads(self):
        return parallel_config(n_jobs=getattr(self.estimator, "n_jobs", None) or 1)

    def _read(self, X, y):
        needed = self._target is not None
        X, y = split_target(X, y) if needed else (X, None)
        mapped = X if isinstance(X, np.memmap) and X.ndim == 2 else None
        tables = tables_of(X if mapped is None else ArrayRows(mapped))
        if tables is None:
            X = validated_table(self, X)
        else:
            X = tables
            validate_data(self, X.head(), skip_check_array=True)
            look_at(X, entries=False)
        head = X.head() if isinstance(X, Tables) else safe_indexing(X, slice(0, 0))
        places, rest = places_of(self.by, head, self._given_keys())
        if needed:
            n_rows = len(X) if isinstance(X, Tables) else X.shape[0]
            y = checked_target(final_step(self.estimator), y, n_rows)
        features = of_columns(X, rest)
        plain = allocate_budget(self).set_params(ledger=None)
        plain._look(features, y)
        if tables is None or mapped is not None:
            features = GroupViews(X if mapped is None else mapped, rest)
        return GroupedRows(of_columns(X, places), features, y, places, self.estimator)

    def _release(self, table):
        """Return the fits of groups: each asks a Table of its own rows."""
        levels, told = self._given_keys(), {}
        if levels is None:
            levels = _found(table)
        if not levels:
            table.doubt(NOBODY)
        most = 1
        if table.grouped:
            most = self.levels_per_group
            most = enough_levels(table, levels) if most == "auto" else most
            told = {"levels_per_group_": most}
        inner = planned(self, grouped=table.grouped, most=most)[1]
        granted = inner.ledger.granted
        parts = table.partition(levels, GROUPS, most=most, **granted) if levels else []
        models = [clone(inner) for _ in parts]
        with config_context(invalid_rows="ignore"), sklearn.config_context(assume_finite=True):
            side_by_side(
                parts,
                [
                    with_current_config(partial(m.fit, p))
                    for m, p in zip(models, parts, strict=True)
                ],
            )
        for model in models:
            model.set_params(ledger=None if self._is_granted() else self.ledger)
        names = [key[0] if len(key) == 1 else key for key in levels]
        return {
            "levels_": names,
            "estimators_": dict(zip(names, models, strict=True)),
            "key_columns_": table.about["key_columns_"],
            **told,
        }

    def group_numbers(self, X):
        """Return the number of the group of each row in ``levels_``, -1 for rows in none.

        Parameters
        ----------
        X : array or DataFrame of shape (n_samples, n_features)

        Returns
        -------
        numbers : ndarray of int of shape (n_samples,)
            Local: as private as X.
        """
        check_is_fitted(self)
        levels = levels_as_keys(self.levels_, len(self.key_columns_)) if self.levels_ else []
        return numbered(Keys(len(self.key_columns_)), levels, of_columns(X, self.key_columns_))

    def _rest(self):
        """Return the places of the columns that models are given."""
        return tuple(j for j in range(self.n_features_in_) if j not in self.key_columns_)

    def results(self, confidence=0.95, *, simultaneous=False, rounded=False, **parameters):
        """Return what all groups have released, as one tidy table.

        Parameters
        ----------
        confidence : float, default=0.95
            Probability with which an interval covers.
        simultaneous : bool, default=False
            Whether all intervals of all groups together shall cover with this probability, instead
            of each by itself: with m of them each covers with 1 - (1 - confidence) / m.
        rounded : bool, default=False
            Whether to show the digits alone that noise leaves: two of half an interval.
        **parameters : dict
            More for the method ``interval`` of the estimator, for instance ``clipping=False``.

        Returns
        -------
        frame : DataFrame
            One row for each group and number: ``group``, ``variable`` (the column it is of), ``q``
            of quantiles, ``value``, ``low``, ``high``, ``n``, the released number of rows, and
            ``reliable``, by the rule of the user guide "When is an answer reliable"; where it is
            False, ``accuracy_warnings_`` of the estimator of the group say why. A ``value`` is NaN
            where nothing is known of it, an interval or ``n`` where an estimator releases none.
            With two columns in ``by`` the group is a pair, and each of both has a column of its own
            beside. A dict of arrays where pandas is not installed.

        Raises
        ------
        AttributeError
            For estimators whose results are no list of numbers.
        """
        check_is_fitted(self)
        two = len(self.key_columns_) == 2
        if simultaneous and self.estimators_:
            n_lines = sum(n_values(model) for model in self.estimators_.values())
            confidence = 1 - (1 - confidence) / n_lines
        by = self._titles() if two else []
        rows = [
            {**dict(zip(by, level if two else (), strict=True)), "group": level, **line}
            for level, model in self.estimators_.items()
            for line in lines_of(model, confidence, parameters)
        ]
        return long_format(rows, [*by, "group", *COLUMNS], rounded=rounded)

    def _key_names(self):
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        return [str(names[place]) for place in self.key_columns_]

    def _titles(self):
        taken = ("group", "q", "class", *COLUMNS)
        return [f"by {name}" if name in taken else name for name in self._key_names()]

    def __sklearn_is_fitted__(self):
        return hasattr(self, "estimators_")

    def __sklearn_tags__(self):
        """Return the tags of scikit-learn: the kind of estimator is that of each group."""
        tags = super().__sklearn_tags__()
        if not hasattr(self.estimator, "__sklearn_tags__"):
            return tags  # what is wrong with it is told by fit
        inner = get_tags(self.estimator)
        tags.estimator_type, tags.target_tags = inner.estimator_type, inner.target_tags
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        return tags


def _found(table):
    """Buy the keys that occur often: one release, as :meth:`skdp.base.Curator.names` proves."""
    budget = part_of(table.budget, LEVELS_SHARE, "gdp")
    found = table.child(LEVELS, LEVELS_SHARE, budget=budget).keys(share=1, label=NAMES, event=NAMES)
    return merged(ordered(dict.fromkeys(found)))


class SplitMixin:
    """Mixin of estimators that fit groups by :class:`skdp.PrivateGroupBy` if ``by`` is given."""

    _by_constraints: dict = {
        "by": [str, Integral, "array-like", None],
        "levels": ["array-like", None],
    }

    def _split(self):
        """Return the PrivateGroupBy of clones of this estimator."""
        if self._is_granted():
            raise PlanError(ALONE.format(name=type(self).__name__))
        own = "by", "levels", "epsilon", "delta", "random_state", "ledger"
        return PrivateGroupBy(
            clone(self).set_params(by=None, levels=None, ledger=None, random_state=None),
            **{name: getattr(self, name) for name in own},
        )

    def _fit_split(self, X, y, groups):
        """Fit the PrivateGroupBy and return it; attributes of other fits are gone."""
        self._validate_params()
        fitted = self._split().fit(X, y, groups=groups)
        for name in [name for name in vars(self) if name.endswith("_")]:
            del vars(self)[name]
        vars(self).update({name: value for name, value in vars(fitted).items() if name in KEPT})
        return fitted
