"""Predict, be told, learn: a stream whose subjects change, and one whose meaning changes (CMU 11).

Where the rows wander and what they mean stays, a learner goes on as before. Where the classes change places, the losses
rise, an alarm is heard, and beginning again is better than remembering.
"""

from tenfold import GaussianNB, evaluate_online
from tenfold.datasets import make_drift

found = {}
for drift in ("inputs", "jump"):
    X, y = make_drift(2000, drift=drift, random_state=0)
    for restart in (False, True):
        one = evaluate_online(GaussianNB(), X, y, batch_size=10, window=200, restart=restart)
        found[drift, restart] = one
        words = "begins again" if restart else "remembers all"
        print(
            f"{drift:>6}, {words:13}: {one.total:4.0f} mistakes, {one.windowed[-1]:.0%} at the end, "
            f"alarms at {one.alarms.tolist()}"
        )
assert len(found["inputs", False].alarms) == 0
assert found["jump", True].total < 0.5 * found["jump", False].total
