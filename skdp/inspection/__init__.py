"""Pictures in scikit-learn's manner: of budgets, ledgers, intervals, of what k or epsilon buy."""

from skdp.inspection._budget_display import BudgetDisplay
from skdp.inspection._elbow_display import ElbowDisplay
from skdp.inspection._interval_display import IntervalDisplay
from skdp.inspection._utility_display import UtilityDisplay
from skdp.show._ledger_display import LedgerDisplay

__all__ = ["BudgetDisplay", "ElbowDisplay", "IntervalDisplay", "LedgerDisplay", "UtilityDisplay"]
