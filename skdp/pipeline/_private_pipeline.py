"""PrivatePipeline: a chain of steps under one budget."""

import sys

import numpy as np
import sklearn
from sklearn.utils import Bunch, get_tags
from sklearn.utils.validation import validate_data

from skdp.contracts import Contract, Joined, Rows, contract_of, target_of
from skdp.estimator._estimator import PrivateEstimator, guarantee
from skdp.pipeline._plan import allocate_budget, commit_shares, step_rows
from skdp.pipeline._predict import PredictMixin
from skdp.pipeline._run import n_rows_of, preview, rehearse, run
from skdp.pipeline._tree import (
    block_of,
    class_name,
    is_inside,
    part_of_pipeline,
    prepared,
    refuse_weights_of,
    share_inside,
)
from skdp.preprocessing._group_map import NO_GROUPS
from skdp.readers import ArrayRows
from skdp.readers._tables import Tables, tables_of
from skdp.table._batched import NamesOutMixin
from skdp.table._schema import checked_rows, look_at, read_rows, validated_rows, validated_table
from skdp.table._split_target import final_step, reads_numbers_and_gaps, split_target
from skdp.table._supervised import checked_target
from skdp.utils._compat import BaseComposition, StrOptions, VisualBlock
from skdp.utils._config import config_context, get_config
from skdp.utils._numbers import stores_parameters
from skdp.utils._threads import quiet


class PrivatePipeline(PredictMixin, NamesOutMixin, PrivateEstimator, BaseComposition):
    """A chain of steps with one total (epsilon, delta), whatever its steps release.

    Steps that spend get shares of one budget, and the guarantee is computed from all of their
    draws together, not from a sum of epsilons. Steps of scikit-learn may take part if they map each
    row by itself and learn nothing, inside a ColumnTransformer or a FeatureUnion too; a step that
    would learn from private rows is refused, with the way out, before any row is read.

    Parameters
    ----------
    steps : list of (str, estimator)
        Names and steps. The ``epsilon``, ``delta``, ``random_state`` and ``ledger`` of a step are
        not used: the pipeline has its own. ``delta=0`` of a step chooses its pure variant.
    epsilon : float, default=1.0
        Privacy parameter, > 0, of all steps together.
    delta : float, default=1e-6
        Privacy parameter in [0, 1); 0 if every step has a pure variant.
    split : "auto" or dict, default="auto"
        Shares of the budget: ``{name: share}``, names of steps inside a container as in
        ``set_params``. Steps without a share divide what is left: scalers and filters get less
        than estimators.
    random_state : int, RandomState instance or None, default=None
        None draws noise from the operating system. Anything else makes the result reproducible
        and not private: for tests and documentation.
    ledger : PrivacyLedger, default=None
        A budget that all fits share. The whole plan is charged before the rows are read.
    verbose : bool, default=False
        Print the name and the share of every step when it starts.

    Attributes
    ----------
    steps_ : list of (str, estimator)
        The fitted steps; their ``epsilon``, ``delta`` and ``privacy_report_`` tell their shares.
    named_steps : Bunch
        The steps by name, fitted if the pipeline is.
    classes_ : ndarray of shape (n_classes,)
        The classes that the last step knows, of a classifier.
    value_ : ndarray
        Released vector after all denoisers, if the pipeline ends with one.
    privacy_report_ : PrivacyReport
        The bill and the guarantee of all steps together.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    make_private_pipeline : Names the steps by their classes.
    check_pipeline : What is wrong with a pipeline of scikit-learn.
    RowMap : A function of each row as a step.
    PublicFit : Any transformer, fitted on public rows.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row, of everything
    that the steps release, together. If all noise is Gaussian the steps add up in mu^2, exactly;
    Gaussian and pure steps together by the privacy curve of the pair; steps that mix kinds inside
    in zCDP (user guide "Pipelines"). Rows that hold NaN after a step count as absent in the next
    one. Between two steps every row is mapped by itself to the last bit. Not private: what
    ``transform`` and ``predict`` return for the training rows; functions and parameters that were
    chosen by looking at the data; public rows of a PublicFit.

    A table that comes in pieces (batches, files, queries, dask) and a memory map are never one
    table: each step is fitted on a view, and what the maps before it make of a piece is made where
    the piece is, in threads and workers too, anew at every pass over the rows: a slow map is best
    applied once, beforehand. Pieces reach a RowMap as they are, those of Arrow as frames of pandas,
    whose integers may be missing (``Int64``); all must have the types of the first. What comes out
    of ``transform`` and ``predict`` is lazy. Nothing is kept of rows but which of them a filter has
    left out.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import FriendlyCoreKMeans, PrivatePipeline, PrivateStandardScaler, RowMap
    >>> pipe = PrivatePipeline([
    ...     ("log", RowMap(np.log1p)),
    ...     ("scale", PrivateStandardScaler()),
    ...     ("kmeans", FriendlyCoreKMeans(3)),
    ... ], epsilon=2.0)
    >>> pipe.plan().problems
    ()
    >>> X = np.random.default_rng(0).lognormal(size=(5000, 2))
    >>> pipe.fit(X).predict(X).shape
    (5000,)
    """

    _parameter_constraints: dict = {
        **PrivateEstimator._parameter_constraints,
        "steps": [list],
        "split": [StrOptions({"auto"}), dict],
        "verbose": ["boolean"],
    }
    _required_parameters = ["steps"]

    @stores_parameters
    def __init__(
        self,
        steps,
        *,
        epsilon=1.0,
        delta=1e-6,
        split="auto",
        random_state=None,
        ledger=None,
        verbose=False,
    ): ...

    @classmethod
    def from_sklearn(cls, pipeline, **parameters):
        """Return a private pipeline like a pipeline of scikit-learn.

        Parameters
        ----------
        pipeline : Pipeline
            Steps that have a private counterpart in skdp are replaced by it, with the parameters
            that both have; others stay, and ``plan().problems`` says which must go.
        **parameters
            Of the private pipeline, for instance ``epsilon``.

        Returns
        -------
        private : PrivatePipeline
        """
        from skdp.pipeline._from_sklearn import private_steps

        return cls(private_steps(pipeline), **parameters)

    def get_params(self, deep=True):
        """Return the parameters of the pipeline and of its steps.

        Parameters
        ----------
        deep : bool, default=True

        Returns
        -------
        params : dict
        """
        return self._get_params("steps", deep=deep)

    def set_params(self, **params):
        """Set parameters of the pipeline or, as ``step__parameter``, of a step.

        Returns
        -------
        self : object
        """
        self._set_params("steps", **params)
        return self

    def set_output(self, *, transform=None):
        """Set what ``transform`` of the steps returns.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, default=None

        Returns
        -------
        self : object
        """
        for _, step in self._all_steps():
            if hasattr(step, "set_output"):
                step.set_output(transform=transform)
        return self

    def plan(self):
        """Return who spends what, and every problem of the pipeline, without any data.

        Returns
        -------
        plan : PipelinePlan
            ``str`` and HTML show it; ``problems`` is empty if it can be fitted.
        """
        self._validate_params()
        self._check_steps()
        return allocate_budget(self)[0]

    def _check_steps(self):
        steps = self.steps
        if not isinstance(steps, list) or not all(
            isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str)
            for pair in steps
        ):
            raise ValueError(
                'steps must be a list of pairs (name, step), for instance [("mean", '
                "PrivateMean())]. make_private_pipeline(PrivateMean()) finds the names itself."
            )
        self._validate_names([name for name, _ in steps])

    @property
    def _target(self):
        """What y is to the last step that needs it: None, "number" or "class"."""
        return target_of(final_step(self))

    def _read(self, X, y):
        needed = self._target is not None
        X, y = split_target(X, y) if needed else (X, y)
        X = self._table(X)
        if needed:
            y = checked_target(final_step(self), y, n_rows_of(X))
        if not self._is_granted():  # a pipeline inside a pipeline is rehearsed with it
            self._rehearse(X, y)
        steps = [(name, prepared(step)) for name, step in self.steps]
        return step_rows(steps, X, y, self._absent())

    def _check_weights(self):
        refuse_weights_of(self)

    def _grouped_plan(self):
        return allocate_budget(self, grouped=True)[0]

    def _weighted_plan(self):
        return allocate_budget(self, weighted=True)[0]

    def _of_persons(self, persons, rows, curator):
        return rows.of(persons), curator, {}

    def _table(self, X):
        """Check a table by itself, as far as it is known before the steps map it; return it."""
        mapped = isinstance(X, np.memmap) and X.ndim == 2
        tables = tables_of(ArrayRows(X) if mapped else X)
        if tables is not None:
            return self._tables(tables)
        if self._begins_with_numbers():
            return checked_rows(self, X)
        if reads_numbers_and_gaps(self, X):
            return validated_rows(self, X, missing=True)
        return validated_table(self, X)

    def _tables(self, tables):
        """Count and check what comes in pieces, and return it."""
        if self._begins_with_numbers():
            read_rows(self, tables)
        else:
            validate_data(self, tables.head(), skip_check_array=True)
            look_at(tables, entries=False)
        return tables

    def _rehearse(self, X, y):
        """Try the steps on made-up rows, and the maps before the first release on the rows."""
        in_pieces = isinstance(X, Tables)
        rehearse(self, X.head() if in_pieces else X, y)
        read = in_pieces and self._begins_with_numbers()
        if get_config()["invalid_rows"] == "error" and not read:
            with quiet():  # a function of the user could warn with its row
                preview(allocate_budget(self)[1], X, y)

    def _rehearse_within(self, view):
        self.fit(view)

    def _begins_with_numbers(self):
        steps = [step for _, step in self.steps if not isinstance(step, str | None)]
        return bool(steps) and isinstance(steps[0], PrivateEstimator) and not steps[0]._mixed

    def _release(self, view):
        """Return the fitted steps: each asks a Table of its own, of what steps before it made."""
        plan, steps = allocate_budget(self, grouped=view.grouped, weighted=view.about["weighted"])
        with config_context(invalid_rows="ignore"), sklearn.config_context(assume_finite=True):
            value = run(steps, view, started=self._teller(plan))
        commit_shares(steps, plan, None if self._is_granted() else self.ledger)
        fitted = {"steps_": steps}
        return fitted if value is None else {**fitted, "value_": value}

    def _teller(self, plan):
        """Return what prints the name and the public share of a step that starts."""
        if not self.verbose:
            return None

        def tell(name):
            inside = sum(float(s.share) for s in plan.splits if is_inside(s.path, name))
            sys.stdout.write(f"[PrivatePipeline] {name}: share {inside:.1%}\n")

        return tell

    def _all_steps(self):
        return getattr(self, "steps_", self.steps)

    @property
    def named_steps(self):
        """The steps by name, fitted if the pipeline is."""
        return Bunch(**dict(self._all_steps()))

    def __len__(self):
        return len(self.steps)

    def __getitem__(self, index):
        steps = self._all_steps()
        if isinstance(index, slice):
            return part_of_pipeline(self, index)
        return dict(steps)[index] if isinstance(index, str) else steps[index][1]

    def _plan_of(self, X, groups):
        plan = super()._plan_of(X, groups)
        if groups is None and self._joins():
            raise ValueError(NO_GROUPS)
        return plan

    def _joins(self):
        """Return whether a step makes one row of all rows of a person."""
        contracts = [contract_of(step) for _, step in self.steps if not isinstance(step, str)]
        return any(c is not None and isinstance(c.yields(None), Joined) for c in contracts)

    def _names_out(self, input_features):
        names = input_features
        if names is None:
            names = getattr(self, "feature_names_in_", None)
        for _, step in self.steps_:
            if not isinstance(step, str | None):
                names = step.get_feature_names_out(names)
        return np.asarray(names, dtype=object)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "steps_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        steps = [step for _, step in self.steps or () if not isinstance(step, str | None)]
        if steps and all(hasattr(step, "get_params") for step in steps):
            first, last = get_tags(steps[0]), get_tags(steps[-1])
            tags.input_tags.pairwise = first.input_tags.pairwise
            who = steps if getattr(steps[0], "_gaps", False) else steps[:1]  # gaps go on
            tags.input_tags.allow_nan = all(get_tags(one).input_tags.allow_nan for one in who)
            tags.estimator_type, tags.target_tags = last.estimator_type, last.target_tags
            tags.classifier_tags = last.classifier_tags
            tags.regressor_tags = last.regressor_tags
            tags.transformer_tags = last.transformer_tags
        return tags

    def _sk_visual_block_(self):
        steps, shares = self._all_steps(), {}
        try:
            plan, granted_steps = allocate_budget(self)
            shares = {split.path: split.share for split in plan.splits}
            if not hasattr(self, "steps_"):
                commit_shares(granted_steps, plan)
                steps = granted_steps
        except ValueError:
            pass  # a diagram shows invalid parameters too
        budget = VisualBlock(
            "single", None, names="one budget", name_caption=guarantee(self), name_details=""
        )
        return VisualBlock(
            "serial",
            [budget, *(block_of(step, share_inside(shares, name)) for name, step in steps)],
            names=["budget", *(f"{name}: {class_name(step)}" for name, step in steps)],
            name_details=[guarantee(self), *(str(step) for _, step in steps)],
            dash_wrapped=False,
        )

    def __skdp_contract__(self):
        """Return what this pipeline reads and yields: as its last step."""
        contract = contract_of(self._last())
        yields = (lambda kind: Rows()) if contract is None else contract.yields
        return Contract(consumes=(Rows,), yields=yields, spends=True, target=self._target)
