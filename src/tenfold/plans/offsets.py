"""Offsets of the linear predictor, absorbed into targets and weights.

A loss of the difference z - y has loss(y, z + o) = loss(y - o, z). A deviance of power p with log link has
loss(y, z + o) = e^((2-p)o) loss(y e^-o, z). The weighted mean over the new weights, of sum W', is W / W' times the
original one: the strength of the penalty is scaled likewise, and the certificate is scaled back.
"""

from dataclasses import replace
from typing import Any

from tenfold.arrays import Array, namespace
from tenfold.judge.certificate import Certificate
from tenfold.losses.deviances import Gamma, IdentityDeviance, LogDeviance, Poisson, Tweedie
from tenfold.losses.loss import Loss


def power_of(loss: Loss) -> float | None:
    """The power of a deviance with log link, else None."""
    if isinstance(loss, Poisson | Gamma):
        return 1.0 if isinstance(loss, Poisson) else 2.0
    return loss.power if isinstance(loss, Tweedie | LogDeviance) else None


def takes_offset(loss: Loss) -> bool:
    """Whether an offset can be absorbed into targets and weights."""
    return not loss.signs and not isinstance(loss, IdentityDeviance)


def without_offset(loss: Loss, y: Array, weight: Array | None, offset: Array | None) -> tuple[Array, Any]:
    """Targets and weights with the offset (n,) absorbed."""
    if offset is None:
        return y, weight
    power = power_of(loss)
    if power is None:
        return y - offset, weight
    xp = namespace(offset)
    factor = xp.exp((2.0 - power) * offset)
    return y * xp.exp(-offset), factor if weight is None else weight * factor


def rescale(certificate: Certificate, factor: float) -> Certificate:
    """The certificate with its objective multiplied by `factor`."""
    if factor == 1.0:
        return certificate
    lower = certificate.lower_bound
    return replace(
        certificate,
        value=certificate.value * factor,
        scale=certificate.scale * factor,
        floor=certificate.floor * factor,
        objective=certificate.objective * factor,
        lower_bound=None if lower is None else lower * factor,
        parts=tuple(part * factor for part in certificate.parts),
    )
