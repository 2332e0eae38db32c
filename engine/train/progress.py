"""How far a training is: from the figures in its log, as a pure function."""

from collections.abc import Sequence

import msgspec

from engine.jobs.log_series import MetricSeries
from engine.train.checkpoints import Checkpoint


class TrainingProgress(msgspec.Struct, frozen=True, kw_only=True):
    """One training now. What its log does not say is `None`."""

    name: str
    state: str
    """Of its newest job; `planned` before there is one, `unreadable` where its plan cannot be read."""
    job_id: int | None
    step: int | None
    total_steps: int | None
    loss: float | None
    accuracy: tuple[float, ...]
    """By depth of the training-time test, of the last line."""
    learning_rate: float | None
    samples_per_s: float | None
    data_wait_share: float | None
    """Of a step's time: near 1 the capture servers or the disk hold the training up."""
    eta_s: float | None
    held_out_accuracy: tuple[float, ...]
    held_out_accept_length: float | None
    """Bonus token counted."""
    checkpoints: tuple[Checkpoint, ...]
    diverged: bool = False
    """The loss of the last line is not a number."""
    losses: tuple[tuple[float, float], ...] = ()
    """Step and loss."""


def progress_of(
    name: str,
    state: str,
    job_id: int | None,
    total_steps: int | None,
    series: Sequence[MetricSeries],
    checkpoints: Sequence[Checkpoint],
) -> TrainingProgress:
    """What the series of a log amount to. SpecForge prints no total: that of the plan is used."""
    train = {one.name: one for one in series if one.source == "train"}
    held = {one.name: one for one in series if one.source == "eval"}
    loss = train.get("loss")
    places = [int(one.points[-1][0]) for one in train.values() if one.points]
    step = max(places, default=None)
    return TrainingProgress(
        name=name,
        state=state,
        job_id=job_id,
        step=step,
        total_steps=total_steps,
        loss=_last(train, "loss"),
        accuracy=_by_depth(train),
        learning_rate=_last(train, "lr"),
        samples_per_s=_last(train, "global_samples_per_second"),
        data_wait_share=_share(_last(train, "data_wait_time_s"), _last(train, "optimizer_step_time_s")),
        eta_s=_eta(step, total_steps, _last(train, "optimizer_step_time_s")) if state == "running" else None,
        held_out_accuracy=_by_depth(held),
        held_out_accept_length=_accept_length(held),
        checkpoints=tuple(checkpoints),
        diverged=step is not None and loss is not None and int(loss.points[-1][0]) < step,
        losses=loss.points if loss is not None else (),
    )


def _last(found: dict[str, MetricSeries], name: str) -> float | None:
    return found[name].last if name in found else None


def _by_depth(found: dict[str, MetricSeries]) -> tuple[float, ...]:
    values: list[float] = []
    while (series := found.get(f"accuracy_{len(values)}")) is not None:
        values.append(series.last)
    return tuple(values)


def _share(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def _eta(step: int | None, total: int | None, step_s: float | None) -> float | None:
    return max(0, total - step) * step_s if step is not None and total is not None and step_s is not None else None


def _accept_length(held: dict[str, MetricSeries]) -> float | None:
    """The reference trainer's own figure, else SpecForge's with the bonus token that it leaves out."""
    own, simulated = _last(held, "accept_length"), _last(held, "simulated_acc_len")
    return own if own is not None else simulated + 1 if simulated is not None else None
