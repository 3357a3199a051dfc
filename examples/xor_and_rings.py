"""XOR and rings: no line separates them, a Gaussian kernel does, and few samples carry the boundary (Cookbook 21)."""

import argparse

import numpy as np

from tenfold import SVC, certify
from tenfold.datasets import make_rings, make_xor
from tenfold.plots import SupportVectorDisplay

data = {"XOR": make_xor(200, noise=0.3, random_state=0), "rings": make_rings(200, radii=(1.0, 3.0), random_state=0)}
fresh = {"XOR": make_xor(2000, noise=0.3, random_state=1), "rings": make_rings(2000, radii=(1.0, 3.0), random_state=1)}
machines = {"linear": SVC(kernel="linear", tol=1e-8), "Gaussian": SVC(gamma=0.5, tol=1e-8)}
planes = {}
for name, (X, y) in data.items():
    for kernel, machine in machines.items():
        machine.fit(X, y)
        certificate = certify(machine, X, y)
        assert certificate.ok
        accuracy = machine.score(*fresh[name])
        proven = np.mean(certificate.decided(fresh[name][0]))
        print(f"{name}, {kernel} kernel: {accuracy:.3f} right, {100 * proven:.1f} % of the predictions proven")
    # the last machine has the Gaussian kernel
    planes[name] = SupportVectorDisplay.of(machine, X, y)
    counts = {kind: int(np.sum(planes[name].types == kind)) for kind in ("free", "bound", "outlier")}
    print(f"{name}: of {len(X)} samples {machine.n_support_.sum()} are support vectors, {counts}")

parser = argparse.ArgumentParser()
parser.add_argument("--plot", help="file to save the picture to")
if file := parser.parse_args().plot:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(12.0, 5.0))
    for ax, (name, plane) in zip(axes, planes.items(), strict=True):
        plane.plot(ax)
        ax.set_title(name)
    figure.savefig(file)
