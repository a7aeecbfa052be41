"""Tests marked `devices8` run in another process, in which the CPU counts as eight devices.

jax fixes the number of devices when it starts, and everything else is tested with one. So the process that is asked for
such a test starts a second pytest for all files that have some, names one test after the other to it, and takes its
reports for its own.
"""
import json
import os
import subprocess
import sys
import threading

import pytest
from _pytest.runner import runtestprotocol

COUNT = 8
FLAG = f"--xla_force_host_platform_device_count={COUNT}"
WORKER = "REACTANT_TESTS_ON_8_DEVICES"
LONGEST = 600
"""Seconds that one test may take there: collective operations can wait for each other for ever."""


class Elsewhere:
    """Has marked tests run by a worker, which it starts when the first one comes up."""

    def __init__(self):
        self.worker = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        if item.get_closest_marker("devices8") is None:
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in self.reports(item):
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        item.session._setupstate.teardown_exact(nextitem)       # what a test before this one has set up here
        return True

    def reports(self, item):
        """What the worker tells of a test."""
        if self.worker is None or self.worker.stdin.closed:
            files = {str(each.path) for each in item.session.items if each.get_closest_marker("devices8")}
            self.worker = started(sorted(files), item.config)
        self.worker.stdin.write(item.nodeid + "\n")
        self.worker.stdin.flush()
        alarm = threading.Timer(LONGEST, self.worker.kill)
        alarm.start()
        answer = self.worker.stdout.readline()
        alarm.cancel()
        if not answer:
            self.stop()
            text = f"the process with {COUNT} devices ended ({self.worker.returncode}) or took over {LONGEST} s"
            return [pytest.TestReport(item.nodeid, item.location, {}, "failed", text, "call")]
        found = [item.config.hook.pytest_report_from_serializable(config=item.config, data=each)
                 for each in json.loads(answer)]
        for report in found:        # why a test was skipped is a tuple, of which JSON makes a list
            if isinstance(report.longrepr, list):
                report.longrepr = tuple(report.longrepr)
        return found

    def stop(self):
        self.worker.stdin.close()
        self.worker.wait()
        self.worker.stdout.close()

    def pytest_sessionfinish(self):
        if self.worker is not None and not self.worker.stdin.closed:
            self.stop()


class Answering:
    """In the worker: runs the tests that are named, and answers with their reports."""

    def __init__(self, questions, answers):
        self.questions, self.answers = questions, answers

    def pytest_runtestloop(self, session):
        known = {item.nodeid: item for item in session.items}
        for line in self.questions:
            found = runtestprotocol(known[line.strip()], nextitem=None, log=False)
            told = [session.config.hook.pytest_report_to_serializable(config=session.config, report=each)
                    for each in found]
            self.answers.write(json.dumps(told, default=str) + "\n")
            self.answers.flush()
        return True


def started(files, config):
    """A worker for these files."""
    environment = {**os.environ, WORKER: "1", "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} {FLAG}".strip()}
    environment = {name: value for name, value in environment.items() if not name.startswith("PYTEST_")}
    return subprocess.Popen([sys.executable, "-m", "tests.devices8", *files], cwd=config.rootpath, env=environment,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def plugin():
    """What a session of tests needs here."""
    return None if os.environ.get(WORKER) else Elsewhere()


def main(files):
    questions, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")    # those of this number are pytest's
    os.dup2(2, 1)
    return pytest.main(["-m", "devices8", "-p", "no:cacheprovider", "-p", "no:xdist", "-qq", "--no-summary", *files],
                       plugins=[Answering(questions, answers)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
