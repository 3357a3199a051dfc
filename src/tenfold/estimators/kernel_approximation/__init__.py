"""Feature maps whose inner products approximate a kernel, and ridge regression on them."""
