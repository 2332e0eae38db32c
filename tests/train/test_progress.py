"""How far a training is, from lines as SpecForge a6b6b02 and the reference trainer print them."""

from engine.jobs.log_series import LogMetrics
from engine.train.progress import TrainingProgress, progress_of

SPECFORGE = b"""\
step 10: {'loss': 9.5, 'acc_0': 0.31, 'acc_1': 0.22, 'acc_2': 0.2, 'ploss_0': 2.1, 'acceptance_rate_0': 0.4, \
'grad_norm': 1.5, 'acc': 0.243, 'lr': 6.6e-05, 'perf/optimizer_steps_per_hour': 1800.0, \
'perf/optimizer_step_time_s': 2.0, 'perf/data_wait_time_s': 1.5, 'perf/train_compute_time_s': 0.5, \
'perf/durable_ack_time_s': 0.0, 'perf/global_samples_per_second': 4.0}
step 20: {'loss': nan, 'acc_0': 0.35, 'acc_1': 0.24, 'acc_2': 0.21, 'lr': 1e-4, 'perf/optimizer_step_time_s': 2.5, \
'perf/data_wait_time_s': 0.1, 'perf/global_samples_per_second': 3.2}
step 20: {'eval/avg_loss': 2.0, 'eval/avg_acc': 0.3, 'eval/per_position_acc': [0.4, 0.3, 0.2], \
'eval/simulated_acc_len': 0.544}
"""
OWN = b"""\
training for 40 steps: 344 conversations, 13144 answer tokens, 86 held out
step 40: {'loss': 23.7285, 'acc': 0.13, 'acc_0': 0.2, 'acc_1': 0.1, 'lr': 0.0, 'perf/optimizer_step_time_s': 0.5}
step 40: {'eval/avg_loss': 4.94, 'eval/per_position_acc': [0.12, 0.09], 'eval/simulated_acc_len': 0.13, \
'eval/accept_length': 1.0977}
"""


def _progress(log: bytes, state: str = "running", total: int | None = 100) -> TrainingProgress:
    metrics = LogMetrics()
    metrics.push(log)
    return progress_of("x", state, 3, total, metrics.series(), [])


def test_specforge_s_lines() -> None:
    found = _progress(SPECFORGE)
    assert found.accuracy == (0.35, 0.24, 0.21)
    assert (found.learning_rate, found.samples_per_s) == (1e-4, 3.2)
    assert found.data_wait_share == 0.04
    assert found.held_out_accuracy == (0.4, 0.3, 0.2)
    assert found.held_out_accept_length == 1.544, "SpecForge leaves the bonus token out"


def test_the_eta_follows_from_steps_left() -> None:
    found = _progress(SPECFORGE)
    assert found.step == 20
    assert found.eta_s == 80 * 2.5
    assert found.diverged, "its last loss is not a number"
    assert not _progress(OWN).diverged
    assert _progress(SPECFORGE, "done").eta_s is None
    assert _progress(SPECFORGE, total=None).eta_s is None


def test_the_reference_trainer_s_lines() -> None:
    found = _progress(OWN)
    assert (found.step, found.accuracy, found.held_out_accept_length) == (40, (0.2, 0.1), 1.0977)


def test_a_log_without_figures_says_nothing() -> None:
    found = _progress(b"Loading checkpoint shards: 100%\nstep 5: {'loss': broken\n")
    assert found.step is None and found.loss is None and found.accuracy == ()
