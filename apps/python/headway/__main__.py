"""`python -m headway`."""

from headway.cli import run

if __name__ == "__main__":
    run()
