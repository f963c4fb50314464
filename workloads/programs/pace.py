# The pace of a service, for the programs in Python.
import time

started = time.monotonic()


def begin_work():
    """Waits until work begins in all runs, and says when that is: eight seconds are the most
    that it takes to set up."""
    wait_until(started + 8)
    return time.monotonic()


def wait_until(moment):
    time.sleep(max(0.0, moment - time.monotonic()))
