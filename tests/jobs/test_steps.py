"""The state machine against a model of the world in which anything dies at any moment."""

from itertools import count

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from engine.jobs.outcome import outcome
from engine.jobs.run_folder import ExitFile
from engine.jobs.steps import SPAWNS_BEFORE_GIVING_UP, Facts, next_step
from state.process_identity import ProcessIdentity
from state.records.jobs import ENDED, Job


class World(RuleBasedStateMachine):
    """One job, its run folder, its processes, and an engine that looks now and then."""

    @initialize(stop_first=st.booleans())
    def begin(self, stop_first: bool) -> None:
        self.pids = count(100)
        self.boot = 1
        self.job = Job(id=1, name="a", kind="command", argv=("a",), working_dir="/", run_folder="/r", created_at=1.0)
        self.claim: ProcessIdentity | None = None
        self.child: ProcessIdentity | None = None
        self.end: ExitFile | None = None
        self.child_written = self.child_lives = False
        self.starting: list[ProcessIdentity] = []
        self.runner_lives = False
        self.told: set[ProcessIdentity] = set()
        self.starts = 0
        self.spawns = 0
        if stop_first:
            self.ask_to_stop()

    def process(self) -> ProcessIdentity:
        return ProcessIdentity(next(self.pids), 1.0, str(self.boot))

    def facts(self) -> Facts:
        return Facts(
            boot_id=str(self.boot),
            end=self.end,
            runner=self.claim,
            runner_lives=self.runner_lives,
            runner_told=self.claim in self.told,
            child=self.child if self.child_written else None,
            processes_live=self.child_lives,
            spawns=self.spawns,
            spawn_pending=bool(self.starting),
        )

    @rule()
    def engine_looks(self) -> None:
        if self.job.state in ENDED:
            return
        step = next_step(self.job, self.facts())
        if step.do == "end":
            assert step.state in ENDED
            self.job = msgspec.structs.replace(self.job, state=step.state, reason=step.reason)
        elif step.do == "prepare":
            self.job = msgspec.structs.replace(self.job, state="starting")
            self.starting.append(self.process())
        elif step.do == "spawn":
            self.spawns += 1
            self.starting.append(self.process())
        elif step.do == "mark_running":
            assert self.child_written
            self.job = msgspec.structs.replace(self.job, state="running")
        elif step.do == "tell_runner":
            assert self.claim is not None and self.runner_lives
            self.job = msgspec.structs.replace(self.job, state="stopping")
            self.told.add(self.claim)

    @rule()
    def engine_is_replaced(self) -> None:
        """The new one knows only what is stored; runners that the old one started are still on their way."""
        self.told, self.spawns = set(), 0

    @precondition(lambda self: self.starting)
    @rule()
    def runner_comes_up(self) -> None:
        runner = self.starting.pop(0)
        if self.end is not None or (self.claim is not None and self.runner_lives):
            return
        first = self.claim is None
        self.claim, self.runner_lives = runner, True
        self.spawns = 0
        if first:
            self.starts += 1
            self.child, self.child_lives = self.process(), True

    @precondition(lambda self: self.starting)
    @rule()
    def runner_dies_young(self) -> None:
        self.starting.pop(0)

    @precondition(lambda self: self.runner_lives and self.child is not None)
    @rule()
    def child_is_written_down(self) -> None:
        self.child_written = True

    @precondition(lambda self: self.child_lives)
    @rule()
    def child_ends(self) -> None:
        self.child_lives = False

    @precondition(lambda self: self.runner_lives and self.child is not None and self.claim in self.told)
    @rule()
    def runner_obeys(self) -> None:
        self.child_lives, self.runner_lives = False, False
        self.end = ExitFile(ended_at=2.0, exit_signal=15, stopped=True)

    @precondition(lambda self: self.runner_lives and self.child is not None and not self.child_lives)
    @rule(code=st.sampled_from([0, 3]))
    def runner_records_the_end(self, code: int) -> None:
        self.runner_lives = False
        self.end = ExitFile(ended_at=2.0, exit_code=code)

    @precondition(lambda self: self.runner_lives)
    @rule()
    def runner_is_killed(self) -> None:
        self.runner_lives = False

    @rule()
    def ask_to_stop(self) -> None:
        if self.job.state not in ENDED:
            self.job = msgspec.structs.replace(self.job, stop_requested_at=1.5)

    @rule()
    def host_restarts(self) -> None:
        self.boot += 1
        self.runner_lives = self.child_lives = False
        self.starting = []
        self.engine_is_replaced()

    @invariant()
    def never_twice(self) -> None:
        assert self.starts <= 1

    @invariant()
    def ends_are_true(self) -> None:
        if self.job.state == "done":
            assert self.end is not None and self.end.exit_code == 0
        if self.job.state in ("failed", "stopped", "lost") and self.end is None:
            assert not self.runner_lives and self.job.reason

    def teardown(self) -> None:
        """From wherever it stands, a healthy world brings the job to its end in a few looks."""
        for _ in range(2 * SPAWNS_BEFORE_GIVING_UP):
            self.engine_looks()
            if self.starting:
                self.runner_comes_up()
            self.child_lives = False
            self.child_written = self.child is not None
            self.engine_looks()
            if self.runner_lives and self.end is None:
                self.runner_records_the_end(0)
        self.engine_looks()
        assert self.job.state in ENDED


TestWorld = World.TestCase
TestWorld.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)


def test_ends_in_words() -> None:
    assert outcome(ExitFile(ended_at=1.0, exit_code=0), stop_requested=False) == ("done", None)
    assert outcome(ExitFile(ended_at=1.0, exit_code=0), stop_requested=True) == ("done", None)
    assert outcome(ExitFile(ended_at=1.0, exit_code=2), stop_requested=False) == ("failed", "exit code 2")
    assert outcome(ExitFile(ended_at=1.0, exit_signal=9), stop_requested=False) == ("failed", "ended by SIGKILL")
    assert outcome(ExitFile(ended_at=1.0, exit_signal=15, stopped=True), True) == ("stopped", "ended by SIGTERM")
    assert outcome(ExitFile(ended_at=1.0, problem="no such file"), False)[0] == "failed"
    assert outcome(ExitFile(ended_at=1.0), False)[0] == "lost"
