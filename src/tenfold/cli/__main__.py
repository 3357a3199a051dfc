"""`python -m tenfold.cli`, where the script `tenfold` is not on the path."""

from tenfold.cli import main

if __name__ == "__main__":
    main()
