"""`python -m tenfold.cli`, where the script `tenfold` is not on the path."""

from tenfold.cli import main

main()
