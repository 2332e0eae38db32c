"""Lines of progress in the words of SpecForge (a6b6b02, training/assembly.py and eval/evaluator.py)."""

from engine.reference.training.draft_loss import Outcome
from engine.reference.training.settings import HeldOut, TrainingSettings

DIGITS = 6


def plan_line(total_steps: int | None, settings: TrainingSettings, samples: int, tokens: int, held_out: int) -> str:
    """What the run is about to do."""
    end = f"{total_steps} steps" if total_steps is not None else f"{settings.seconds:g} s"
    return f"training for {end}: {samples} conversations, {tokens} answer tokens, {held_out} held out"


def step_line(step: int, outcome: Outcome, norm: float, rate: float, step_s: float, batch: int) -> str:
    """One line of metrics: SpecForge's names, as the text of a Python dictionary."""
    accuracy, losses, overlap = (one.tolist() for one in (outcome.agreement, outcome.losses, outcome.overlap))
    metrics = {
        "loss": float(outcome.loss.detach()),
        "acc": sum(accuracy) / len(accuracy),
        **{f"acc_{depth}": share for depth, share in enumerate(accuracy)},
        **{f"ploss_{depth}": loss for depth, loss in enumerate(losses)},
        **{f"acceptance_rate_{depth}": share for depth, share in enumerate(overlap)},
        "grad_norm": norm,
        "lr": rate,
        "perf/optimizer_step_time_s": step_s,
        "perf/optimizer_steps_per_hour": 3600 / step_s if step_s else 0.0,
        "perf/global_samples_per_second": batch / step_s if step_s else 0.0,
    }
    return f"step {step}: { ({name: round(value, DIGITS) for name, value in metrics.items()}) }"


def evaluation_line(step: int, held: HeldOut) -> str:
    """What the draft comes to on what is held out. SpecForge counts no bonus token in `simulated_acc_len`."""
    metrics = {
        "eval/avg_loss": held.loss,
        "eval/avg_acc": round(sum(held.accuracy) / len(held.accuracy), DIGITS),
        "eval/per_position_acc": list(held.accuracy),
        "eval/simulated_acc_len": round(held.simulated_accept_length - 1, DIGITS),
        "eval/accept_length": held.accept_length,
    }
    return f"step {step}: {metrics}"
