"""Online learning under covariate shift and under concept drift (CMU 11).

Under covariate shift the learner makes no more mistakes than before. Where the classes are swapped, the losses
increase, the alarm detects the drift, and a restart is better than keeping the old model.
"""

from tenfold import GaussianNB, evaluate_online
from tenfold.datasets import make_drift

result = {}
for drift in ("inputs", "jump"):
    X, y = make_drift(2000, drift=drift, random_state=0)
    for restart in (False, True):
        one = evaluate_online(GaussianNB(), X, y, batch_size=10, window=200, restart=restart)
        result[drift, restart] = one
        words = "restart" if restart else "no restart"
        print(
            f"{drift:>6}, {words:13}: {one.total:4.0f} mistakes, {one.windowed[-1]:.0%} at the end, "
            f"alarms at {one.alarms.tolist()}"
        )
assert len(result["inputs", False].alarms) == 0
assert result["jump", True].total < 0.5 * result["jump", False].total
