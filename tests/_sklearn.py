"""scikit-learn's own checks of one estimator, in one test that names those that fail."""

from sklearn.utils.estimator_checks import check_estimator

__all__ = ["all_pass", "run_checks"]


def run_checks(estimator, expected=None):
    """Run the checks of scikit-learn; those of ``expected`` must fail, all others must not."""
    results = check_estimator(
        estimator, expected_failed_checks=expected or {}, on_skip=None, on_fail=None
    )
    assert len(results) > 20
    all_pass((result["check_name"], _fault(result)) for result in results)


def _fault(result):
    if result["status"] == "passed" and result["expected_to_fail"]:
        return AssertionError(f"passes, where it should fail: {result['expected_to_fail_reason']}")
    return result["exception"] if result["status"] == "failed" else None


def all_pass(outcomes):
    """Raise the errors among pairs of a name and an error or None, each with its name."""
    errors = []
    for name, error in outcomes:
        if error is not None:
            error.add_note(f"in {name}")
            errors.append(error)
    if errors:
        raise ExceptionGroup(f"{len(errors)} checks fail", errors)
