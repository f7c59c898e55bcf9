"""Children of the daemon: each is reaped once, and none keeps another from ending."""

import subprocess
import sys

# A process of its own, because the test's own children must not be swept away.
SCRIPT = """
import os, sys, time
from sandboxd.kernel.children import Children

children = Children()


def fork(act):
    pid = os.fork()
    if pid == 0:
        act()
        os._exit(7)
    return pid


def wait_until_gone(pid):
    while os.path.exists(f"/proc/{pid}"):
        time.sleep(0.01)


with children.starting():
    ended = fork(lambda: None)
    children.own(ended)
    os.waitid(os.P_PID, ended, os.WEXITED | os.WNOWAIT)
    stray = fork(lambda: time.sleep(0.1))
    waiting = fork(lambda: wait_until_gone(stray))
    children.own(waiting)
print(children.reap(waiting), children.reap(ended), os.path.exists(f"/proc/{stray}"))
"""


def test_a_child_that_ends_only_after_a_stray_was_reaped_is_waited_for() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False, timeout=40
    )

    assert done.stderr == ""
    assert done.stdout == "7 7 False\n"
