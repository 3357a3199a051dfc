"""Families of proteins by words up to a substitution (CMU 34; Seeger 9.2.3).

Each member of a family holds a motif of nine amino acids at some place, of which two were substituted at random.
Exact words of five characters are mostly broken; words that may differ in one character still agree. Kernel components
show the families; the plot is written if a file is named: python protein_motif.py families.svg
"""

import sys

import numpy as np

from tenfold import SVC, KernelPCA
from tenfold.kernels import Mismatch, Normalised, Spectrum

AMINO = list("ACDEFGHIKLMNPQRSTVWY")
MOTIFS = ("HKWDECPGY", "MFRNQWTHC", "YPLDGKWEM")
rng = np.random.default_rng(0)


def draw(motif: str) -> str:
    """A chain of sixty amino acids that holds the motif with two substitutions."""
    chain, part = rng.choice(AMINO, 60), np.array(list(motif))
    part[rng.choice(len(part), 2, replace=False)] = rng.choice(AMINO, 2)
    place = int(rng.integers(0, 60 - len(part)))
    chain[place : place + len(part)] = part
    return "".join(chain)


family = np.repeat(np.arange(len(MOTIFS)), 80)
chains = [draw(MOTIFS[f]) for f in family]
train = np.arange(len(chains)) % 2 == 0
known, new = ([c for c, t in zip(chains, train, strict=True) if t == part] for part in (True, False))
accuracy = {}
for name, kernel in (
    ("exact words of 5", Spectrum(5)),
    ("one substitution", Mismatch(5, 1, alphabet_size=20)),
):
    model = SVC(kernel=Normalised(kernel), C=10.0).fit(known, family[train])
    accuracy[name] = float(np.mean(model.predict(new) == family[~train]))
    print(f"{name}: {accuracy[name]:.1%} of new chains, certified: {model.certificate_.ok}")
components = KernelPCA(2, kernel=Normalised(Mismatch(5, 1, alphabet_size=20))).fit(chains)
print(f"components: {components.certificate_.explain()}")
assert accuracy["one substitution"] > accuracy["exact words of 5"]

if len(sys.argv) > 1:
    import matplotlib.pyplot as plt

    z = components.transform(chains)
    figure, axes = plt.subplots(figsize=(5, 4))
    for f, motif in enumerate(MOTIFS):
        axes.plot(*z[family == f].T, ".", label=motif)
    axes.legend()
    axes.set(xlabel="component 1", ylabel="component 2", title="Chains by words up to a substitution")
    figure.savefig(sys.argv[1])
