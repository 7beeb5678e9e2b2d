"""Pictures in scikit-learn's manner: of budgets, ledgers, intervals, of what k or epsilon buy."""

from skdp.inspection._displays import BudgetDisplay, ElbowDisplay, IntervalDisplay
from skdp.inspection._utility_display import UtilityDisplay
from skdp.show._display import LedgerDisplay

__all__ = ["BudgetDisplay", "ElbowDisplay", "IntervalDisplay", "LedgerDisplay", "UtilityDisplay"]
