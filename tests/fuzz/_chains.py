"""Random chains of steps, legal and illegal, with a table and hostile neighbours of it."""

import inspect
from dataclasses import dataclass

import numpy as np
import sklearn.cluster
import sklearn.compose
import sklearn.decomposition
import sklearn.impute
import sklearn.pipeline
import sklearn.preprocessing
from hypothesis import strategies as st

import skdp
import skdp.model_selection
from skdp.audit._draw import AuditRandom
from tests.fuzz import _functions, _lies
from tests.fuzz._tables import FLAVOURS, HOSTILE, KINDS, hostile_row, rows_of, table

MODULES = (
    sklearn.preprocessing,
    sklearn.pipeline,
    sklearn.compose,
    sklearn.impute,
    sklearn.decomposition,
    sklearn.cluster,
    skdp.model_selection,
    skdp,
)
NAMES = {name: value for m in MODULES for name, value in vars(m).items() if name[0] != "_"}
NAMES |= {name: getattr(skdp, name) for name in skdp.__all__} | {"np": np}
NAMES |= {name: value for name, value in vars(_functions).items() if name[0] != "_"}
NAMES["Liar"] = _lies.Liar
PUBLIC_ROWS = 30


@dataclass(frozen=True)
class Step:
    """A step of a chain, as Python code; ``parts`` are the steps inside it."""

    code: str
    parts: tuple = ()

    def __str__(self):
        return self.code.format(*self.parts)

    def leaves(self):
        """Yield the code of every step inside, or of this one."""
        for part in self.parts:
            yield from part.leaves()
        if not self.parts:
            yield self.code

    def functions(self):
        """Return the functions that this step holds, anywhere inside."""
        return {f for f in FUNCTIONS if f"({f.__name__}" in str(self)}


@dataclass(frozen=True)
class Chain:
    """A pipeline, a table, and what its neighbours have in addition.

    ``around`` is what is done with the pipeline, as Python code. ``rows`` are hostile rows and
    where they stand; ``larger_first`` tells which of the neighbours is fitted first.
    """

    steps: tuple
    around: str = "{}"
    kind: str = "float64"
    flavour: str = "plain"
    n: int = 20
    d: int = 2
    rows: tuple = (("far", 0),)
    larger_first: bool = False
    invalid_rows: str = "error"
    epsilon: float = 50.0
    delta: float = 1e-6
    seed: int = 0

    def code(self):
        """Return Python code that makes the estimator."""
        steps = ", ".join(f'("s{i}", {step})' for i, step in enumerate(self.steps))
        budget = f"epsilon={self.epsilon:g}, delta={self.delta:g}, random_state=0"
        inside = f"PrivatePipeline([{steps}]" if self.around != "{}" else ""
        text = self.around.format(f"{inside})") if inside else f"PrivatePipeline([{steps}])"
        last = f"s{len(self.steps) - 1}"
        return f"{text[:-1]}, {budget})".replace("LAST", last)

    def estimator(self):
        """Return the estimator."""
        public = table(self.kind, self._base(PUBLIC_ROWS, "plain", 1), self.d)
        return eval(self.code(), {**NAMES, "PUBLIC": public})

    def must_be_refused(self):
        """Return whether a step learns from private rows, or yields a core inside a container."""
        inside = {code for step in self.steps if step.parts for code in step.leaves()}
        everywhere = {code for step in self.steps for code in step.leaves()}
        return not everywhere.isdisjoint(LEARNING) or not inside.isdisjoint(FILTERS)

    def neighbours(self):
        """Yield pairs of (table, keys): the one fitted first, and the other."""
        base = self._base(self.n, self.flavour, 0)
        for how, place in self.rows:
            row, place = hostile_row(self.kind, base, self.d, how), min(place, self.n)
            *keys, own = AuditRandom("keys", self.seed).words(self.n + 1)  # a row keeps its key
            larger = (*base[:place], row, *base[place:]), [*keys[:place], own, *keys[place:]]
            smaller = tuple(base), keys
            sides = (larger, smaller) if self.larger_first else (smaller, larger)
            yield tuple((table(self.kind, rows, self.d), k) for rows, k in sides)

    def public_rows(self):
        """Return a few public rows of the schema."""
        return table(self.kind, self._base(3, "plain", 1), self.d)

    def functions(self):
        """Return the functions of all RowMaps and FunctionTransformers."""
        return set().union(*(step.functions() for step in self.steps), self._around_functions())

    def _around_functions(self):
        return {f for f in FUNCTIONS if f.__name__ in self.around}

    def _base(self, n, flavour, seed):
        return rows_of(self.kind, n, self.d, flavour, self.seed + seed)

    def program(self):
        """Return a program that shows the two neighbours and makes the estimator."""
        lines = ["from tests.fuzz._chains import *"]
        lines += [inspect.getsource(f).rstrip() for f in sorted(self.functions(), key=_name)]
        base = f'rows_of("{self.kind}", {self.n}, {self.d}, "{self.flavour}", {self.seed})'
        public = f'rows_of("{self.kind}", {PUBLIC_ROWS}, {self.d}, "plain", {self.seed + 1})'
        lines += [
            f"base = {base}",
            f'X = table("{self.kind}", base, {self.d})',
        ]
        for how, place in self.rows:
            place = min(place, self.n)
            row = hostile_row(self.kind, self._base(self.n, self.flavour, 0), self.d, how)
            lines.append(f"row = {row!r}  # {how}")
            rows = f"[*base[:{place}], row, *base[{place}:]]"
            lines.append(f'Y = table("{self.kind}", {rows}, {self.d})')
        if "PUBLIC" in self.code():
            lines.append(f'PUBLIC = table("{self.kind}", {public}, {self.d})')
        lines.append(f"estimator = {self.code()}")
        lines.append(f'with config_context(invalid_rows="{self.invalid_rows}"):')
        order = ("Y", "X") if self.larger_first else ("X", "Y")
        lines += [f"    estimator.fit({name})" for name in order]
        return "\n".join(lines)


def _name(function):
    return getattr(function, "__name__", "")


FUNCTIONS = (
    *_functions.HONEST,
    *_functions.MIXING,
    *_functions.WRITING,
    *_functions.FAILING,
    _functions.Counter,
    _functions.score_row,
)

ROW_WISE = (
    "Normalizer()",
    "Binarizer()",
    "PolynomialFeatures(2, include_bias=False)",
    'SimpleImputer(strategy="constant", fill_value=0, keep_empty_features=True)',
    'OneHotEncoder(categories=[[0, 1, 2]] * 2, handle_unknown="ignore")',
    'OneHotEncoder(categories=[[0, 1, 2]], handle_unknown="ignore", sparse_output=False)',
    'OrdinalEncoder(categories=[["red", "green", "blue"]], '
    'handle_unknown="use_encoded_value", unknown_value=-1)',
    "Binarizer(copy=False)",
    "Normalizer(copy=False)",
    '"passthrough"',
)
LEARNING = (
    "StandardScaler()",
    "PCA(1)",
    "KBinsDiscretizer(2)",
    'SimpleImputer(strategy="mean")',
    "OneHotEncoder()",
    "MinMaxScaler()",
    "FunctionTransformer(zscore)",
    "KMeans(2)",
)
STRANGE = ('SimpleImputer(strategy="constant")', "FunctionTransformer(same)", "MinMaxScaler", "1")
ON_PUBLIC = (
    "StandardScaler()",
    "PCA(1)",
    "KBinsDiscretizer(2)",
    "SimpleImputer()",
    'OneHotEncoder(handle_unknown="ignore")',
    "QuantileTransformer(n_quantiles=4)",
    "FunctionTransformer(zscore)",
    "FunctionTransformer(by_largest)",
    "FunctionTransformer(squash)",
    "Normalizer(copy=False)",
    "KMeans(2, n_init=1)",
    'ColumnTransformer([("a", StandardScaler(), [0])], remainder="passthrough")',
)
SCALERS = ("PrivateStandardScaler()", "PrivateRobustScaler()", "PrivateMinMaxScaler()")
FILTERS = ("FriendlyCoreFilter()", "FriendlyCoreFilter(4.0)")
STATISTICS = ("mean", "median", "variance")
ENDS = (
    "PrivateMean()",
    "PrivateMean(trim=True)",
    'PrivateMean(method="friendly")',
    "PrivateMedian()",
    'PrivateQuantile(0.9, method="exponential", delta=0.0)',
    "PrivateTrimmedMean()",
    "PrivateVariance()",
    "PrivateMinMax()",
    "PrivateCovariance()",
    'PrivateCovariance(method="friendly")',
    "PrivatePCA(1)",
    "PrivateHistogram(bins=3)",
    "PrivateHistogram(bins=3, delta=0.0)",
    "LloydKMeans(2, max_iter=2)",
    "LloydKMeans(2, max_iter=1, delta=0.0)",
    "FriendlyCoreKMeans(2, n_init=1)",
    "PrivateGMM(2, max_iter=1, n_init=1)",
    "MarginalReleaser(1)",
    "PrivateStandardScaler()",
)
MECHANISMS = ("LaplaceMechanism()", "GaussianMechanism()")
DENOISERS = (
    "JamesSteinDenoiser()",
    "SoftThresholdDenoiser()",
    "BayesDenoiser()",
    "AutoDenoiser()",
    "JamesSteinDenoiser(target='mean')",
)
COLUMNS = ("[0]", '["a"]', "slice(0, 1)", "[-1]", "[0, 1]", "len", "make_column_selector()")
AROUND = (
    "{}",
    'PrivatePipeline([("inner", {})])',
    'PrivatePipeline([("log", RowMap(squash)), ("inner", {})])',
    'PrivatePipeline([("inner", {}), ("mean", PrivateMean())])',
    'PrivateSearchCV({}, {{"split": ["auto"]}}, mean_trials=2)',
    'PrivateSearchCV({}, {{"verbose": [False, True]}}, mean_trials=2, scoring="distance")',
    "PrivateSearchCV({}, {{'split': ['auto']}}, mean_trials=2, scoring=RowScorer(score_row, 0, 1))",
    'PrivateSearchCV({}, {{"LAST__n_components": [1, 5]}}, mean_trials=2)',
    'PrivateSearchCV({}, {{"LAST__n_clusters": [2, 3]}}, mean_trials=2)',
)


def _steps(*codes):
    return st.sampled_from([Step(code) for code in codes])


def row_maps(word=True):
    """Draw a RowMap, honest or hostile; ``word``: perhaps on the user's word."""
    functions = [
        *_functions.HONEST,
        *_functions.MIXING,
        *_functions.MIXING,
        *_functions.WRITING,
        *_functions.FAILING,
    ]
    names = [f"{f.__name__}" for f in functions] + ["Counter()"]
    codes = ("RowMap({})", "RowMap({})", "RowMap({}, vectorized=False)")
    if word:
        codes = (*codes, "RowMap({}, vectorized=True)")
    return st.builds(
        lambda code, name: Step(code.replace("{}", name)),
        st.sampled_from(codes),
        st.sampled_from(names),
    )


def public_fits():
    """Draw a PublicFit."""
    return _steps(*(f"PublicFit({inner}, PUBLIC)" for inner in ON_PUBLIC))


def leaves(legal):
    """Draw a step that is no container and hands rows on, or ought not to."""
    steps = [
        row_maps(),
        row_maps(),
        _steps(*(ROW_WISE[:5] if legal else ROW_WISE)),
        public_fits(),
        _steps(*SCALERS, "PrivatePCA(1)"),
    ]
    return (
        st.one_of(*steps)
        if legal
        else st.one_of(*steps, _steps(*LEARNING, *STRANGE), _steps(*FILTERS))
    )


def containers(inner):
    """Draw a container of scikit-learn around other steps."""
    one = st.sampled_from(COLUMNS).map(
        lambda c: 'ColumnTransformer([("t", {}, ' + c + ')], remainder="passthrough")'
    )
    two = st.just('ColumnTransformer([("t", {}, [0]), ("u", {}, [-1])])')
    union = st.just('FeatureUnion([("t", {}), ("u", {})])')
    pipe = st.just('Pipeline([("t", {}), ("u", {})])')
    single = st.just('Pipeline([("t", {})])')
    return st.one_of(
        st.builds(lambda code, a: Step(code, (a,)), st.one_of(one, single), inner),
        st.builds(lambda code, a, b: Step(code, (a, b)), st.one_of(pipe, union, two), inner, inner),
    )


def mappings(legal):
    """Draw a step from rows to rows, containers and what is inside them included."""
    inner = leaves(legal)
    once = containers(inner)
    return st.one_of(inner, inner, inner, inner, once, containers(st.one_of(inner, once)))


@st.composite
def ends(draw, legal):
    """Draw the end of a chain: what releases, and what comes before and after it."""
    shape = draw(st.integers(0 if legal else -2, 9))
    if shape < 0:
        return draw(st.lists(mappings(legal), min_size=1, max_size=2))
    if shape == 0:
        bounded = f'SensitivityPreprocessor("{draw(st.sampled_from(STATISTICS))}", sensitivity=0.5)'
        steps = [Step(bounded), draw(_steps(*MECHANISMS))]
    else:
        core = [draw(_steps(*FILTERS))] if shape in (2, 3) else []
        steps = [*core, draw(_steps(*(ENDS[:8] if shape in (1, 2) and legal else ENDS)))]
    if shape in (1, 2):
        steps.append(draw(_steps(*DENOISERS)))
    return steps


@st.composite
def chains(draw, kinds=tuple(KINDS), around=AROUND):
    """Draw a chain."""
    legal = draw(st.sampled_from((True, True, True, False)))
    steps = [*draw(st.lists(mappings(legal), max_size=2 if legal else 3)), *draw(ends(legal))]
    kind = draw(st.sampled_from((*("float64",) * (len(kinds) // 3), *kinds)))
    n = draw(st.sampled_from((20, 20, 30, 30, 60, 2, 1, 0)))
    n = 1 if (n, kind) == (0, "list") else n  # a list without rows does not tell its width
    row = st.tuples(st.sampled_from(HOSTILE), st.sampled_from((0, 0, 3, 60)))
    return Chain(
        steps=tuple(steps),
        around=draw(st.sampled_from((*("{}",) * len(around), *around))),
        kind=kind,
        flavour=draw(st.sampled_from((*("plain",) * 4, *FLAVOURS))),
        n=n,
        d=draw(st.integers(1, 4)),
        rows=tuple(draw(st.lists(row, min_size=1, max_size=3, unique_by=lambda r: r[0]))),
        larger_first=draw(st.booleans()),
        invalid_rows=draw(st.sampled_from(("error", "ignore"))),
        epsilon=draw(st.sampled_from((50.0, 20.0, 100.0, 5.0))),
        delta=draw(st.sampled_from((1e-6, 1e-6, 1e-6, 0.0))),
        seed=draw(st.integers(0, 5)),
    )
