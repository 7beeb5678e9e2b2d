"""The layers that put tests of the suite to work on a fault, each one kind of evidence."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.stats import norm

from skdp import FriendlyCoreFilter, PrivacyLedger, PrivateMean, PrivateRidge, make_private_pipeline
from skdp.audit import conditional_sensitivity
from skdp.exceptions import AuditFailure
from skdp.mechanisms import rounded_gaussian
from tests import (
    test_curator,
    test_groups,
    test_groups_sums,
    test_one_row_decides_for_itself,
    test_target,
)
from tests._means import ClassCounts, TargetMean
from tests.accounting import test_ledger_file, test_parts
from tests.audit import test_empirical
from tests.by_group import test_group_by
from tests.by_group import test_persons as persons_by_group
from tests.cluster import test_lockstep, test_public_place
from tests.columns import test_locate
from tests.denoising import test_rules, test_users
from tests.friendly import test_average, test_certified_core, test_distance, test_plain_numbers
from tests.kernel import test_links, test_maps, test_pairs, test_statistics
from tests.marginals import test_marginal_releaser
from tests.mechanisms import test_noise
from tests.model_selection import test_search_groups, test_search_sources
from tests.pipeline import test_groups as groups_in_pipelines
from tests.pipeline import test_sources
from tests.privacy._fits import alarms, expect, passes
from tests.readers import test_persons, test_weights
from tests.scales import test_noise_level
from tests.sensitivity import test_ends, test_streamed

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


ROW_MORE = test_pairs.test_one_row_moves_it_by_the_bound_and_no_more
SUMS = (
    test_statistics.test_no_row_adds_more_than_the_bound_and_some_row_adds_it,
    test_statistics.test_a_total_is_the_sum_of_its_rows_in_any_order_and_any_blocks,
)


def users_apart(subject):
    """S8: all rows of a user move no value by more than its sensitivity, whatever tells users."""
    for name in TABLES_OF_USERS:
        passes(test_users.test_a_user_moves_counts_by_at_most_the_sensitivity, name, "laplace")
    passes(test_users.test_users_that_may_have_been_rounded_are_none)
    passes(test_users.test_large_integers_beside_floats_in_one_array_are_refused)
    passes(test_users.test_the_cap_may_be_of_any_type_of_integers, np.int16, "gaussian")


def certified_cores(subject):
    """S8: friends are those of the predicate that the noise for a core is calibrated to."""
    passes(test_average.test_rounding_moves_every_column_as_far_as_declared, 0)
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
    passes(test_one_row_decides_for_itself.test_many_cycles_leave_each_a_share, 10)
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
    passes(test_ends.test_bounds_from_the_ends_hold_on_every_window_of_theirs)
    passes(test_ends.test_spreads_need_no_order)
    passes(test_streamed.test_two_passes_tell_what_all_entries_do, True)


def statistics(subject):
    """S8: no row adds more than a statistic of the kernel bounds, some row adds it."""
    home = subject.file.removesuffix(".py").replace("/", ".")
    audits = [(cls, test) for cls in test_statistics.EXAMPLES for test in SUMS]
    audits += [(cls, ROW_MORE) for cls in test_pairs.OF_SAMPLES]
    audits += [(cls, test_maps.test_a_row_is_mapped_by_itself) for cls in test_maps.MAPS]
    at_home = [(cls, test) for cls, test in audits if cls.__module__ == home]
    for cls, test in at_home or audits:
        passes(test, cls)
    passes(test_links.test_residuals_of_two_classes_are_within_the_sensitivity_and_reach_it)
    passes(test_links.test_clipped_residuals_are_within_the_radius)


def clusters(subject):
    """S8: of searches side by side, a row adds to those of its own set alone."""
    passes(test_lockstep.test_all_that_wait_are_answered_by_one_release)


def pieces(subject):
    """S8: a table that comes in pieces is the table: who is left out is left out of every piece."""
    table = test_sources.positive_table()
    for name in ("core", "nested"):
        passes(test_sources.test_a_pipeline_of_pieces_is_that_of_the_table, table, name)
    rows = test_search_sources.two_blobs()
    passes(test_search_sources.test_a_search_of_pieces_is_that_of_the_table, rows, "distance")


def targets(subject):
    """S8: what is told of labels, and who has a target, is decided row by row, and is paid for."""
    passes(test_target.test_probability_that_one_row_is_published)
    for columns in (1, 4):
        passes(test_target.test_a_row_of_new_labels, columns)
    passes(test_target.test_rows_that_a_step_leaves_out_have_no_target)
    for estimator, y in (
        (TargetMean(), np.where(test_target.CODES == 1, np.inf, 0.5)),
        (ClassCounts(), np.where(test_target.CODES == 1, np.nan, 1.0)),
    ):
        passes(test_target.test_invalid_targets_are_refused_or_absent, estimator, y, "Input y")
    with TemporaryDirectory() as folder:
        sources = test_target.test_all_sources_of_rows_give_the_same
        passes(sources, TargetMean(epsilon=20.0, random_state=0), test_target.NUMBERS, Path(folder))


def sets_of_rows(subject):
    """S10: a row moves the releases of its own group alone, and no two groups share noise."""
    for in_pieces in (False, True):
        passes(test_group_by.test_a_row_moves_releases_of_its_own_group_alone, 5, in_pieces)
    passes(test_group_by.test_no_two_groups_share_noise)


def groups(subject):
    """S8: all rows of a person move a value by no more than its unit, which noise is made for."""
    passes(test_persons.test_rows_of_a_person_weigh_no_more_than_a_unit, 7)
    passes(test_persons.test_sums_means_and_drawn_rows_do_not_depend_on_blocks_or_on_others, 7)
    passes(test_persons.test_ids_that_differ_by_one_beyond_floats_are_two_persons)
    passes(test_persons.test_a_missing_owner_does_not_decide_how_others_are_read, test_persons.GAPS)
    passes(test_persons.test_a_unit_stays_with_sums_and_with_nothing_else)
    passes(test_groups.test_noise_is_for_all_rows_of_a_group)
    for name in ("k-means", "histogram", "tables"):
        passes(test_groups_sums.test_persons_of_all_sizes_move_a_sum_by_their_unit, name, 1)
    passes(test_groups_sums.test_norms_are_rounded_up, (16, 1))
    passes(test_weights.test_a_person_moves_sums_by_at_most_the_unit_whoever_else_there_is)
    passes(test_weights.test_means_are_functions_of_the_rows_of_their_person)
    passes(test_weights.test_ids_that_differ_are_different_persons)
    passes(test_weights.test_the_cap_is_found_through_noise)
    passes(test_groups.test_a_table_of_nobody_is_fitted_as_one_of_somebody, PrivateRidge())


def persons(subject):
    """S9: of fits with groups, all rows of a person move no value by more than it pays for."""
    X, owners = groups_in_pipelines.persons()
    for estimator, n_pairs in (
        (PrivateMean(epsilon=30.0), 8),
        (PrivateMean(epsilon=30.0, rows_per_group=3), 8),
        (make_private_pipeline(FriendlyCoreFilter(8.0), PrivateMean(), epsilon=30.0), 6),
    ):
        with alarms(AuditFailure):
            conditional_sensitivity(estimator, X, groups=owners, n_pairs=n_pairs)
    passes(groups_in_pipelines.test_after_a_core_one_drawn_row_of_each_person_is_left_in_every_step)
    passes(test_search_groups.test_a_person_is_in_one_part_and_others_stay_where_they_are)
    passes(persons_by_group.test_a_person_costs_what_was_paid_and_no_less, 2, False)
    passes(persons_by_group.test_several_levels_divide_the_budget)


LAYERS_OF_TESTS = {
    "sets of rows": sets_of_rows,
    "clusters": clusters,
    "columns": columns,
    "statistics": statistics,
    "users apart": users_apart,
    "certified cores": certified_cores,
    "one budget": one_budget,
    "answers": answers,
    "audits": audits,
    "pieces": pieces,
    "targets": targets,
    "groups": groups,
    "persons": persons,
}
