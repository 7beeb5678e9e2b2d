"""The layers that put tests of the suite to work on a fault, each one kind of evidence."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.stats import norm

from skdp import PrivacyLedger
from skdp.columns import bounded_moments, bounded_sums
from skdp.mechanisms import rounded_gaussian
from tests import test_curator
from tests.accounting import test_ledger_file, test_parts
from tests.audit import test_empirical
from tests.cluster import test_lockstep, test_public_place, test_second_look
from tests.columns import test_locate, test_pair, test_ranks
from tests.covariance import test_bounded, test_sparse
from tests.denoising import test_rules, test_users
from tests.friendly import test_certified_core, test_distance, test_plain_numbers
from tests.marginals import test_marginal_releaser
from tests.mechanisms import test_noise
from tests.privacy._fits import expect, passes
from tests.scales import test_noise_level
from tests.sensitivity import test_ends

TABLES_OF_USERS = ("pandas int64", "array int64", "array object")
CHARGES = """
import sys
from skdp.accounting import Budget, PrivacyLedger, _ledger_file

_ledger_file.BUSY_SECONDS = 0.1
try:
    PrivacyLedger.open(sys.argv[1]).charge(Budget.pure(0.1), "fit")
except TimeoutError:
    print("locked")
"""


def users_apart(subject):
    """S8: all rows of a user move no value by more than its sensitivity, whatever tells users."""
    for name in TABLES_OF_USERS:
        passes(test_users.test_a_user_moves_counts_by_at_most_the_sensitivity, name, "laplace")
    passes(test_users.test_users_that_may_have_been_rounded_are_none)
    passes(test_users.test_large_integers_beside_floats_in_one_array_are_refused)
    passes(test_users.test_the_cap_may_be_of_any_type_of_integers, np.int16, "gaussian")


def certified_cores(subject):
    """S8: friends are those of the predicate that the noise for a core is calibrated to."""
    for radius in (6.0, 1e200):
        passes(
            test_certified_core.test_noise_is_calibrated_to_the_radius_under_which_the_core_was_made,
            radius,
            {"level": 0.5},
        )
    passes(test_certified_core.test_a_distance_predicate_is_a_radius, 6.0)
    predicate = test_certified_core.Looser(1.0)
    passes(test_certified_core.test_other_predicates_bound_no_distance, predicate)
    weights = (
        test_plain_numbers.test_weights_of_a_soft_core_are_those_that_the_sensitivity_speaks_of
    )
    passes(weights, np.uint8)
    passes(test_distance.test_products_in_single_precision_are_no_proof_next_to_the_radius, 10)


def one_budget(subject):
    """S6: neither copies, nor parts of another unit, nor backups let a budget be spent twice."""
    passes(test_curator.test_a_curator_has_no_copies)
    passes(test_parts.test_a_mixed_budget_ties_every_share_to_the_kind_it_was_made_for)
    with TemporaryDirectory() as folder:
        book = PrivacyLedger(1.0, path=Path(folder) / "book.db")
        with book._file.transaction("IMMEDIATE"):
            shutil.copy(book.path, Path(folder) / "copy.db")  # drops the POSIX locks of the process
            told = test_ledger_file.run(CHARGES, book.path)
        expect(told == ["locked"], "a ledger is charged in the middle of another charge")


def answers(subject):
    """What was charged for ends in an answer, and in one that is better than the noise."""
    passes(test_noise.test_large_noise_has_its_law, rounded_gaussian, norm)
    passes(test_marginal_releaser.test_rows_are_made_after_every_postprocessing, "auto", 300)
    passes(test_rules.test_coordinates_far_apart_stay_what_they_are, 400, 1000)
    for scale in (0.15, 0.3, 5.0):
        passes(test_noise_level.test_noise_alone_is_no_scale_under_either_law, "laplace", scale)


def audits(subject):
    """S9: an audit sees what the steps of a pipeline and the winner of a search release."""
    passes(test_empirical.test_the_default_statistic_looks_into_steps, "pipeline")
    passes(test_empirical.test_the_default_statistic_looks_at_the_winner_of_a_search)


def columns(subject):
    """S8: histograms of columns, ranks and moments between bounds move by what is paid for."""
    clipped = (
        test_public_place.test_clipped_rows_are_functions_of_each_row_and_stay_absent_if_not_finite
    )
    passes(clipped)
    passes(test_locate.test_rows_in_a_box_are_functions_of_rows)
    passes(test_bounded.test_neighbours_move_by_at_most_the_sensitivity_and_a_corner_attains_it)
    passes(test_ends.test_bounds_from_the_ends_hold_on_every_window_of_theirs)
    passes(test_ends.test_spreads_need_no_order)
    passes(test_sparse.test_the_look_at_sparse_columns_moves_by_at_most_its_sensitivity)
    for law in test_pair.BUDGETS:
        for engine, degree in ((bounded_moments, 1), (bounded_moments, 2), (bounded_sums, 1)):
            moved = test_pair.test_replayed_releases_move_by_at_most_their_sensitivity
            passes(moved, law, engine, degree)
    for d in (1, 4):
        passes(test_locate.test_neighbours_move_no_release_too_far, d)
    passes(test_ranks.test_on_neighbours_every_release_moves_by_at_most_its_sensitivity)


def clusters(subject):
    """S8: sets of rows side by side, and second looks at clusters, move by what is paid for."""
    passes(test_lockstep.test_all_that_wait_are_answered_by_one_release)
    passes(test_lockstep.test_neighbours_move_a_release_by_at_most_the_sensitivity_of_one_set)
    looked = test_second_look.test_hostile_neighbours_move_no_release_too_far
    passes(looked, 4, test_second_look.STRONG)


LAYERS_OF_TESTS = {
    "clusters": clusters,
    "columns": columns,
    "users apart": users_apart,
    "certified cores": certified_cores,
    "one budget": one_budget,
    "answers": answers,
    "audits": audits,
}
