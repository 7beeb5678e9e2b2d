"""The rules of the house as data: what may be where, and why. Folders end in a slash."""

# Paths are relative to skdp/.
RANDOMNESS = {
    "mechanisms/_entropy.py": "the one source of random words",
    "__main__.py": "tokens of analysts, and their digests",
    "remote/_holdings.py": "tokens of analysts are kept as digests",
    "remote/_wire.py": "a digest of what may cross the wire",
    "remote/_server.py": "fits have names that nobody guesses",
    "audit/_empirical.py": "a seed of its own for every fit of an audit, from a hash",
    "accounting/_ledger_file.py": "lines of a ledger carry a checksum, a hash",
    "audit/_fingerprint.py": "compares what fits keep by a hash",
    "audit/_process.py": "sets generators back that an audited fit has used",
    "cluster/friendly/_parts.py": "public seeds of oracles, from a hash",
    "utils/_numbers.py": "public choices, functions of public numbers",
    "planning/_families.py": "makes public rows up to plan with",
}
CLOCKS = {
    "remote/_client.py": "a connection that was idle is opened anew",
    "remote/_server.py": "fits that ask nothing for long are ended",
    "remote/_session.py": "answers leave at multiples of a public time",
    "accounting/_ledger_file.py": "lines of a ledger carry their time",
    "audit/_process.py": "lets clocks run at another pace in an audited fit",
    "utils/_progress.py": "tells the data holder how long a fit has taken, if asked to",
}
LOGS = {
    "__main__.py": "writes the log of a holder where it was asked to",
    "audit/_observe.py": "listens to what a fit logs",
    "remote/_server.py": "tells the holder who asked, by public arguments",
}
STDOUT = {
    "__main__.py": "the command line",
    "utils/_progress.py": "tells of releases on the standard error, if asked to",
    "utils/_config.py": "prints versions for a bug report",
    "pipeline/_private_pipeline.py": "tells names and shares of steps, if asked to",
}
BOOKS = {
    "accounting/": "defines charges and reports, and adds reports up",
    "gate/_curator.py": "writes a charge when it draws, a report when it closes",
}
DRAWS = {"mechanisms/": "defines the draws", "gate/_curator.py": "the only caller"}
CURATORS = {
    "gate/_curator.py": "makes the Curator of a fit",
    "audit/_checks_budget.py": "asks one for more than there is",
}
MESSAGES = {
    "remote/": "an analyst's side has no rows; of the holder's only texts of parameters leave",
    "audit/": "speaks of the made-up rows of an audit",
    "planning/": "knows no private rows: speaks of made-up ones",
}
HOOKS = {
    "gate/_parallel.py": "lets a set of rows draw with words of its own",
    "gate/_curator.py": "defines them",
    "audit/": "answers in their place",
}
BOOKKEEPING = {
    "remote/_session.py": "tells an analyst the bill, which is public",
    "gate/_parallel.py": "the state of Curators of disjoint sets of rows",
    "gate/_curator.py": "its own state, and that of children",
    "audit/": "stands in for the Curator",
}
STORES = {
    "preprocessing/_public_fit.py": "is fitted on public rows",
    "preprocessing/_row_map.py": "learns from made-up rows whether a function mixes rows",
    "preprocessing/_group_map.py": "learns from made-up rows how many numbers a function returns",
}
SETATTR = {
    "denoising/_base.py": "denoisers are fitted on released vectors",
    "estimator/_estimator.py": "sets what _release returned",
    "estimator/_mixins.py": "sets what _release returned",
    "utils/_numbers.py": "parameters become Python's own numbers",
    "utils/_renamed.py": "an old name of a parameter or attribute stands for the new one",
    "kernel/pairs/_distance.py": "a frozen dataclass casts its parameter",
    "friendly/_match.py": "a frozen dataclass casts its parameters",
    "friendly/published/_covariances.py": "frozen dataclasses cast their parameters",
    "pipeline/_run.py": "puts fitted parts where a fit of scikit-learn does",
    "preprocessing/_sensitivity_preprocessor.py": "keeps a Local, which no pickle takes along",
    "sensitivity/_personal.py": "a frozen dataclass casts its parameter",
    "sensitivity/_windows.py": "frozen dataclasses cast their parameters",
    "audit/": "compares and rebuilds fitted estimators",
}

# Who takes the rows and the Curator out of a Table: proofs of their own, in this process alone.
ANNEXES = {
    "cluster/_kmeans.py": "An oracle of the user's choice clusters parts of rows.",
    "covariance/_private_covariance.py": "Parts of rows decide about each other.",
    "kernel/": "Defines annexes.",
    "location/_column_estimator.py": "A bounded statistic sorts all rows: it is no sum over rows.",
    "location/_friendly.py": "A row stays by noise of its own that depends on all rows.",
    "mixture/_private_gmm.py": "An oracle clusters parts of rows.",
    "estimator/_estimator.py": "Estimators of others may take rows in _release.",
    "model_selection/_private_search.py": "A function of the user scores rows in this process.",
    "pipeline/_run.py": "Steps of other libraries are code, which never crosses to rows.",
    "preprocessing/_friendly_core_filter.py": "The owner of rows gets those that stay.",
    "preprocessing/_mechanism_steps.py": "A bounded statistic of all rows stands in for the rows.",
}
# Who states a sensitivity in a release, outside of the kernel: the proof stands in that file.
SENSITIVITIES = {
    "kernel/": "Computes every sensitivity from the fields of a query.",
    "friendly/_average.py": "The bound of a mean holds for cores that pairs of rows made.",
    "friendly/_diameter.py": "Numbers of friends are sums over pairs of rows.",
    "friendly/_filters.py": "Noise decides which rows stay; the bound is that of a coupling.",
    "friendly/_tuples.py": "Numbers of friends of tuples are sums over pairs.",
    "marginals/published/_boosting.py": "Scores add up exact sums and earlier answers.",
    "sensitivity/_bounded.py": "Preprocessing proves the bound of a statistic of all rows.",
    "sensitivity/_personal.py": "The bound is a number that the promises of groups state.",
}

# Names that a message may show, file by file: public parameters, released numbers, paths.
PUBLIC = {
    "__init__.py": {"name": "of an attribute of the module", "other": "a name in skdp"},
    "stats/__init__.py": {"name": "of an attribute of the module", "other": "a name in skdp"},
    "utils/_config.py": {"name": "of an option", "value": "of an option"},
    "kernel/_plain.py": {"text": "constant, a name of a class or a field"},
    "gate/_accountant.py": {
        "label": "constant text",
        "mechanism": "constant text",
        "share": "from releases",
        "left": "a share",
        "unit": "of a budget",
        "granted": "a unit",
        "budget": "its unit",
    },
    "table/_schema.py": {
        "names": "of dtypes",
        "others": "names of columns",
        "told": "these",
        "told_of_gaps": "a constant text, and the number of columns",
        "source": "its number of columns",
    },
    "utils/_numbers.py": {
        "told": "of scikit-learn about a parameter, a table by its type",
        "hint": "a constant text, and a number or text that is a parameter",
        "name": "of a parameter",
        "vector": "its value",
        "error": "about its value",
        "n_features": "",
    },
    "show/_summary.py": {
        "name": "of a parameter",
        "allowed": "constant texts",
        "value": "of a parameter",
        "text": "of a parameter",
        "texts": "of a parameter",
        "date": "of a parameter",
    },
    "by_group/_keys.py": {
        "names": "of columns",
        "schema": "number of columns",
        "describe_parameter": "a number or a text, of all else the type",
        "strange": "a public parameter",
    },
    "readers/_raw.py": {"which": "names of columns"},
    "readers/_parts.py": {"name": "of a file or a kind of table", "error": "a constant text"},
    "additive/_terms_display.py": {"n": "number of features", "feature": "a parameter"},
    "boosting/_pair_terms_display.py": {"n": "number of terms", "one": "a parameter"},
    "boosting/_base.py": {"error": "a constant text, and parameters", "pair": "a parameter"},
    "accounting/_budget.py": {
        "epsilon": "",
        "delta": "",
        "failure": "a probability in a plan",
        "value": "of epsilon or delta",
    },
    "utils/_renamed.py": {
        "old": "a name in skdp",
        "new": "a name in skdp",
        "_or": "names of parameters",
        "most": "a number of parameters",
        "args": "their number alone",
        "unknown": "a name that was passed",
        "function": "a name in skdp",
        "text": "names of attributes",
    },
    "utils/_warnings.py": {
        "told": "constant texts and released numbers of columns",
        "name": "of a class",
        "text": "constant texts and types of steps",
    },
    "estimator/_estimator.py": {"plan": "its problems, made from parameters"},
    "estimator/_mixins.py": {"plan": "its problems, made from parameters"},
    "show/_display.py": {
        "x": "a public option",
        "otherwise": "constant text",
    },
    "accounting/_plan.py": {
        "twice": "labels of steps",
        "total": "of the failure probabilities",
        "whole": "unit of a budget",
        "unit": "",
    },
    "accounting/_composition.py": {"name": "of a parameter", "value": "of a count of releases"},
    "accounting/_gaussian.py": {
        "method": "",
        "epsilon": "",
        "name": "of a parameter",
        "allowed": "its range",
        "seen": "its value",
        "hint": "constant text",
    },
    "accounting/_accounts.py": {
        "unit": "a parameter",
        "epsilon": "",
        "delta": "",
        "composition": "",
        "m": "a parameter, a public bound",
        "budget": "",
        "path": "of the ledger",
        "name": "of a parameter",
        "old": "parameter in the file",
        "new": "parameter given",
    },
    "accounting/_ledger.py": {
        "what": "is charged: public by definition",
        "self": "repr without amounts",
        "unit": "a parameter",
        "closed": "latched or not",
        "sizes": "of a budget, and of what is left of the capacity",
        "reasons": "parts of the public capacity",
    },
    "accounting/_ledger_file.py": {
        "path": "of the ledger",
        "folder": "of the ledger",
        "error": "of SQLite, about the ledger",
        "plain": "a text without control characters",
        "last": "number of a line",
    },
    "cluster/_base.py": {
        "name": "of a parameter",
        "error": "about its value",
        "shape": "public",
        "array": "a public parameter",
    },
    "covariance/_private_covariance.py": {"norm": ""},
    "covariance/_private_pca.py": {"n_features": "public"},
    "denoising/_axes.py": {
        "n_features": "",
        "categories": "public",
        "user": "a column number",
        "name": "of a parameter",
        "entries": "of a public parameter",
        "low": "public",
        "high": "public",
    },
    "denoising/_base.py": {"n_features": "of released vectors", "law": "public"},
    "denoising/_graph.py": {"n_nodes": "public"},
    "denoising/_vector.py": {"noise_scale": "public"},
    "denoising/_shrinkers.py": {"d": "columns of released vectors"},
    "friendly/published/_basic_filter.py": {"alpha": "public"},
    "friendly/_diameter.py": {"r_min": "", "r_max": "", "base": "", "slack": ""},
    "friendly/_filters.py": {"level": "public"},
    "friendly/_match.py": {"told": "of made-up rows"},
    "kernel/pairs/_distance.py": {"n_up": "released", "h_low": "released"},
    "location/_bounded_moments.py": {"given": "names of parameters"},
    "preprocessing/_scalers.py": {"ends": "a public parameter"},
    "preprocessing/_rank_scalers.py": {"ends": "a public parameter"},
    "marginals/_answers.py": {"names": "of columns"},
    "marginals/_domain.py": {
        "_nearest": "some edges, public or released",
        "describe_parameter": "a number or a text, of all else the type",
        "column": "a public parameter",
        "columns": "names of columns",
        "d": "number of attributes",
        "domain": "a public parameter",
        "edges": "public or released",
        "k": "",
        "key": "of the domain",
        "known": "names of columns",
        "lost": "the same",
        "n_features": "",
        "place": "of a column",
        "wanted": "a public parameter",
        "workload": "a parameter",
        "wrong": "parameters",
    },
    "marginals/_frames.py": {
        "wrong": "names of columns",
        "outside": "names of columns, told to a caller who holds the data",
    },
    "table/_levels.py": {
        "key": "of categories",
        "which": "names of columns",
        "name": "of a parameter",
    },
    "table/_supervised.py": {
        "column": "name of a column, a parameter",
        "told_of_gaps": "a constant text, and the number of columns",
    },
    "marginals/_inference.py": {
        "raw": "its number of cells",
        "gaps": "names of columns",
        "bins": "names of columns",
        "name": "of a column",
    },
    "marginals/_synthetic_rows.py": {"statistic": "a public parameter", "m": "the same"},
    "marginals/_residuals.py": {
        "k": "",
        "d": "number of attributes",
        "sets": "their number",
        "attributes": "a set of the workload",
        "width": "of a table",
        "size": "of the workload",
    },
    "marginals/_levels.py": {"key": "of the domain", "labels": "of the domain"},
    "marginals/_postprocess.py": {
        "how": "a parameter",
        "value": "of a parameter",
        "candidates": "names of ways",
    },
    "marginals/_synthetic_report.py": {"d": "number of columns", "outside": "their names"},
    "summary/_private_summary.py": {"wrong": "names of columns"},
    "marginals/published/_boosting.py": {"plan": "a public parameter"},
    "marginals/published/_frank_wolfe.py": {"m": "number of queries"},
    "marginals/published/_relaxation.py": {"k": "", "d": "number of attributes"},
    "marginals/published/_synopsis.py": {"gamma": "", "beta": ""},
    "metrics/_classifier_report.py": {"k": "number of classes", "n_features": "public"},
    "metrics/_confusion.py": {"k": "number of classes", "n_features": "public"},
    "metrics/_cross_val.py": {"names": "of metrics"},
    "metrics/_rates.py": {"names": "of metrics", "metric": "a parameter"},
    "metrics/_regression_report.py": {
        "name": "of a parameter",
        "wanted": "number of columns",
        "n_features": "public",
    },
    "model_selection/_budgets.py": {"epsilon": "", "delta": ""},
    "model_selection/_curator.py": {
        "refused": "names of parameters",
        "problems": "of a plan",
        "budget": "its unit",
        "planned": "its unit",
        "tried": "a candidate",
        "error": "about made-up rows",
    },
    "model_selection/_scoring.py": {"names": "of metrics"},
    "mixture/_private_gmm.py": {"n_features": "public"},
    "pipeline/_from_sklearn.py": {
        "key": "of a parameter",
        "name": "of an estimator",
        "value": "of a parameter",
        "way_out": "a constant text",
    },
    "pipeline/_predict.py": {"name": "of a method"},
    "preprocessing/_encoders.py": {"which": "names of columns"},
    "preprocessing/_private_target_encoder.py": {
        "which": "names of columns",
        "name": "of a parameter",
        "kind": "a constant text",
    },
    "preprocessing/_private_simple_imputer.py": {"which": "names of columns"},
    "preprocessing/_group_map.py": {
        "failure": "about made-up rows",
        "sizes": "of results for made-up rows",
        "names": "a parameter",
    },
    "pipeline/_run.py": {
        "started": "names of steps",
        "failure": "about made-up rows, or without entries",
        "name": "of a step",
    },
    "preprocessing/_public_fit.py": {"known": "number of columns of public rows"},
    "rowwise/_form.py": {"failure": "about made-up rows"},
    "scales/_column_noise.py": {
        "confidence": "a public parameter",
        "sampling": "a public parameter",
        "describe_parameter": "a number or a text, of all else the type",
    },
    "stats/_contingency.py": {"pair": "asked for by its reader", "labels": "released, or public"},
    "stats/_comparison.py": {"name": "of a column", "rule": "a constant text"},
    "stats/_power.py": {
        "describe_parameter": "a number or a text, of all else the type",
        "test": "a parameter",
        "effect": "a parameter",
        "name": "of a parameter",
        "x": "a parameter",
    },
    "sensitivity/_bounded.py": {"statistic": "public", "sensitivity": "public or released"},
    "sensitivity/_closed.py": {"center": "public or released"},
    "sensitivity/_personal.py": {"curator": "unit of its budget"},
    "sensitivity/_personal_groups.py": {
        "groups": "their number",
        "sizes": "their number",
        "parts": "their number",
        "budgets": "their number",
        "statistic": "public",
    },
    "sensitivity/_windows.py": {"p": "public", "alpha": "public", "problem": "of made-up integers"},
    "sensitivity/published.py": {"D": "number of groups", "groups": "their number"},
    "mechanisms/_entropy.py": {"start": "row number", "stop": "row number"},
    "mechanisms/_exact.py": {"name": "of a parameter", "x": "an amount of budget"},
    "mechanisms/_noise.py": {
        "name": "of a parameter",
        "scale": "of the noise, public",
        "rate": "from the budget",
    },
    "mechanisms/_rows.py": {
        "radius": "public or released",
        "drop": "public",
        "bits": "public",
        "n_max": "public bound",
    },
    "mechanisms/_norms.py": {"name": "of a parameter", "d": "columns", "most": "", "bits": ""},
}
# Names of things that no message shows, whatever the list above says.
# fmt: off
PRIVATE = {
    "X", "Y", "Z", "y", "rows", "row", "block", "blocks",
    "sample", "samples", "counts", "count_rows", "values", "sums", "keys",
    "coins", "norms", "friends", "weights", "n_rows", "n_samples", "indices", "exact",
    "kept", "data", "take", "release",
}
# fmt: on
SCHEMA = {"shape", "dtype", "ndim", "itemsize", "__name__", "__qualname__"}

# Who may import whom: task rooms -> engines -> Curator -> guarded rooms.
BASE = {
    "_private_part",
    "_split_target",
    "_warnings",
    "_groups",
    "_schema",
    "_batched",
    "exceptions",
    "_compat",
    "_config",
    "_levels",
    "_numbers",
    "_renamed",
    "_progress",
    "_results",
    "show",
    "_threads",
}
ENGINE = {
    "kernel",
    "kernel/applied",
    "kernel/pairs",
    "mechanisms",
    "accounting",
    "readers",
    "columns",
    "scales",
    "friendly",
    "sensitivity",
    "location/engine",
    "_numbers",
}
IMPORTS = {
    "exceptions": set(),
    "_compat": set(),
    "_unread": {
        "_parallel",
        "_compat",
        "_config",
        "_accountant",
        "_batched",
        "_private_part",
        "readers",
        "contracts",
        "kernel",
        "_schema",
    },
    "__main__": {"accounting", "remote"},
    "remote": {
        "remote",
        "__init__",
        "stats",
        "metrics",
        "denoising",
        "accounting",
        "exceptions",
        "kernel",
        "marginals",
        "mechanisms",
        "readers",
        "_curator",
        "_estimator",
        "_groups",
        "_private_part",
        "_config",
        "_threads",
        "_warnings",
    },
    "_config": set(),
    "_numbers": {"_compat", "_renamed"},
    "_renamed": {"_warnings"},
    "_private_part": {"_config", "_threads", "exceptions"},
    "_progress": {"_config"},
    "_batched": {"_compat", "_config", "_threads", "_groups", "readers", "rowwise"},
    "_schema": {"_config", "_threads", "readers"},
    "_groups": {"_config", "_schema", "accounting", "readers", "kernel"},
    "_split_target": {"_config", "_schema", "_threads", "contracts", "readers"},
    "_mixins": {"_compat", "_private_part", "exceptions", "_warnings"},
    "_levels": {"accounting", "exceptions", "kernel", "mechanisms", "readers"},
    "_supervised": {"_config", "_levels", "_schema", "readers"},
    "_results": {"_warnings", "readers"},
    "show": {"show", "_warnings"},
    "_threads": set(),
    "mechanisms": {"mechanisms", "_threads"},
    "contracts": {"contracts"},
    "rowwise": {"rowwise", "_compat", "_config", "_threads"},
    "accounting": {
        "accounting",
        "mechanisms",
        "exceptions",
        "show",
        "_renamed",
    },
    "_accountant": {"_warnings", "accounting", "mechanisms", "exceptions"},
    "_parallel": {"_accountant", "_curator", "_warnings", "mechanisms"},
    "_curator": {"_accountant", "_warnings", "accounting", "mechanisms", "exceptions"},
    "_warnings": {"exceptions"},
    "readers": {"readers", "mechanisms", "_config", "_progress", "_threads"},
    "kernel/pairs": {"kernel/pairs", "mechanisms"},
    "kernel/applied": {"kernel", "kernel/applied", "kernel/pairs", "readers", "mechanisms"},
    "kernel": {"kernel", "kernel/pairs", "readers", "mechanisms", "_private_part"},
    "scales": {
        "scales",
        "kernel",
        "kernel/pairs",
        "readers",
        "mechanisms",
        "accounting",
        "_numbers",
    },
    "columns": {"columns", "kernel", "scales", "readers", "mechanisms", "accounting"},
    "friendly": {
        "_private_part",
        "friendly",
        "kernel",
        "kernel/pairs",
        "readers",
        "mechanisms",
        "accounting",
    },
    "friendly/published": {"friendly/published", "friendly", "kernel/pairs", "mechanisms"},
    "sensitivity": {
        "_private_part",
        "sensitivity",
        "kernel",
        "readers",
        "mechanisms",
        "accounting",
        "scales",
    },
    "sensitivity/published": {"sensitivity/published", "sensitivity"},
    "location/engine": ENGINE | {"_groups"},
    "planning": {
        "planning",
        "_compat",
        "_config",
        "_numbers",
        "_progress",
        "_threads",
        "exceptions",
    },
    "_estimator": BASE
    | {
        "_curator",
        "_warnings",
        "planning",
        "_mixins",
        "_supervised",
        "_groups",
        "_accountant",
        "_private_part",
        "accounting",
        "readers",
        "contracts",
        "kernel",
        "mechanisms",
    },
    "inspection": {"inspection", "planning", "show", "readers", "_numbers"},
    "marginals": BASE | ENGINE | {"marginals", "denoising", "_estimator", "_mixins", "contracts"},
    "summary": BASE | ENGINE | {"summary", "marginals", "by_group", "_estimator"},
    "marginals/published": {
        "_numbers",
        "marginals/published",
        "marginals",
        "accounting",
        "kernel",
        "mechanisms",
    },
    "metrics": BASE
    | ENGINE
    | {"metrics", "_estimator", "_supervised", "by_group", "exceptions", "rowwise", "show"},
    "model_selection": BASE
    | {
        "__init__",
        "_supervised",
        "metrics",
        "model_selection",
        "_parallel",
        "_unread",
        "_curator",
        "_estimator",
        "accounting",
        "readers",
        "contracts",
        "kernel",
        "mechanisms",
        "rowwise",
        "scales",
    },
    "pipeline": BASE
    | {
        "_mixins",
        "_supervised",
        "pipeline",
        "__init__",
        "_curator",
        "_estimator",
        "_accountant",
        "_unread",
        "accounting",
        "readers",
        "contracts",
        "denoising",
        "kernel",
        "preprocessing",
        "rowwise",
        "_threads",
    },
    "by_group": BASE
    | {
        "by_group",
        "kernel",
        "_estimator",
        "_accountant",
        "_unread",
        "_supervised",
        "accounting",
        "readers",
        "contracts",
        "exceptions",
    },
    "location": BASE | ENGINE | {"location", "denoising", "_estimator", "_mixins", "contracts"},
    "additive": BASE
    | ENGINE
    | {"additive", "covariance/engine", "linear/engine", "_estimator", "_levels"}
    | {"_mixins"},
    "boosting": BASE | ENGINE | {"boosting", "additive"},
    "cluster": BASE | ENGINE | {"cluster", "_estimator", "_mixins", "contracts"},
    "covariance/engine": ENGINE | {"covariance/engine"},
    "covariance/published": ENGINE
    | {"covariance/published", "covariance/engine", "friendly/published", "cluster"},
    "covariance": BASE
    | ENGINE
    | {"covariance", "covariance/engine", "covariance/published", "_estimator", "contracts"},
    "denoising": BASE | ENGINE | {"denoising", "_curator", "_estimator", "contracts"},
    "linear/engine": ENGINE | {"linear/engine", "covariance/engine", "_numbers"},
    "linear": BASE
    | ENGINE
    | {"linear", "linear/engine", "covariance/engine", "_estimator", "_mixins", "contracts"},
    "mixture": BASE | ENGINE | {"cluster", "mixture", "_estimator", "contracts"},
    "stats/engine": ENGINE | {"stats/engine", "_numbers"},
    "stats": BASE
    | ENGINE
    | {
        "stats",
        "stats/engine",
        "metrics",
        "linear/engine",
        "_estimator",
        "_mixins",
        "_supervised",
        "contracts",
    },
    "preprocessing": BASE
    | ENGINE
    | {"preprocessing", "location", "denoising", "rowwise", "summary", "additive"}
    | {"_supervised", "_levels", "_estimator", "_mixins", "contracts"},
    "audit": BASE
    | ENGINE
    | {"audit", "_curator", "_estimator", "contracts", "location", "model_selection"},
    "base": ENGINE - {"location/engine"} | {"_curator", "_estimator", "_private_part", "contracts"},
    "__init__": {"accounting", "_renamed"},
}
# Files of a task room that are engines: their own room in the graph.
ENGINE_FILES = {
    f"{room}/_{name}.py": f"{room}/engine"
    for room, names in {
        "covariance": """
            engine release run distance_histogram
            """,
        "linear": """
            front line logit newton
            """,
        "location": """
            bounded_moments clip column_scales column_strategies
            friendly locate mean places rank_release reach release
            """,
    }.items()
    for name in names.split()
}
# Files of these folders are rooms of their own in the graph.
FOLDERS = {
    "utils": """
        _compat _config _warnings _numbers _progress _threads _renamed
        """,
    "gate": """
        _parallel _accountant _curator
        """,
    "table": """
        _split_target _groups _levels _batched _schema _supervised
        """,
    "estimator": """
        _estimator _mixins _results
        """,
}
ENGINE_FILES |= {f"{room}.py": room for room in ("covariance/published", "sensitivity/published")}
ENGINE_FILES |= {
    f"{folder}/{name}.py": name for folder, names in FOLDERS.items() for name in names.split()
}
IMPORTS |= {folder: set() for folder in FOLDERS}

# Rooms that import nothing of scikit-learn; for exceptions the reason.
WITHOUT_SKLEARN = set(IMPORTS) - {
    "__init__",
    "_compat",
    "_numbers",
    "_estimator",
    "_batched",
    "_results",
    "_schema",
    "_unread",
    "_supervised",
    "additive",
    "audit",
    "base",
    "boosting",
    "by_group",
    "cluster",
    "covariance",
    "denoising",
    "inspection",
    "linear",
    "location",
    "marginals",
    "metrics",
    "mixture",
    "model_selection",
    "pipeline",
    "planning",
    "preprocessing",
    "remote",
    "rowwise",
    "stats",
    "summary",
}
SKLEARN = {"mechanisms/_entropy.py": "check_random_state reads a random_state parameter"}

CODE_LINES = {
    "mechanisms": 750,  # with the calls of compiled loops beside those of numpy
    "accounting": 1536,  # six lines go with the old names of fields
    "contracts": 350,
    "kernel": 4200,
    "kernel/applied": 300,
    "kernel/pairs": 385,
}
MODULE_LINES = 400
