"""How a problem is solved on given rows: which solver, which repair, and then the judge. Estimators call a plan and
store what it returns.
"""

from tenfold.plans.result import Fitted

__all__ = ["Fitted"]
