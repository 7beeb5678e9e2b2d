"""Pictures in scikit-learn's manner: of budgets, of ledgers, of what epsilon buys, of intervals."""

from skdp._ledger_display import LedgerDisplay
from skdp.inspection._budget_display import BudgetDisplay
from skdp.inspection._interval_display import IntervalDisplay
from skdp.inspection._utility_display import UtilityDisplay

__all__ = ["BudgetDisplay", "IntervalDisplay", "LedgerDisplay", "UtilityDisplay"]
