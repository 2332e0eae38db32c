"""What a campaign is asked for: the fields of its file."""

from typing import Literal

import msgspec

from state.records.campaigns import Campaign


class CampaignError(Exception):
    """A campaign cannot be begun or gone on with. `remedy` says what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file. Unknown fields are refused, so that a slip is not passed over."""


class TargetPart(Part, frozen=True, kw_only=True):
    """The model that is to become faster."""

    model: str
    """Folder, or repository id."""
    command: tuple[str, ...] = ()
    """Starts its server; `{port}` stands for a free port. SGLang's, or the reference server's, where not given."""
    reference: bool = False
    """Served and trained by the small reference engine."""
    ready_within_s: float = 1800.0
    gpus: int = 0
    """How many GPUs its server takes from the queue."""


class DraftPart(Part, frozen=True, kw_only=True):
    """A draft that is there already, to be measured beside the new ones."""

    path: str
    faulty_flag: bool = False
    """Measure it under `--speculative-algorithm EAGLE` too, to show what that flag costs an EAGLE-3 draft."""


class DataPart(Part, frozen=True, kw_only=True):
    """Where the prompts come from: a plan to prepare, or files that are ready."""

    plan: str = ""
    workers: int = 2
    prompts: tuple[str, ...] = ()


class RegeneratePart(Part, frozen=True, kw_only=True):
    """How the target answers the prompts."""

    server: str = ""
    """A server that runs already; else the target is served for so long."""
    max_tokens: int = 4096
    temperature: float | None = None
    concurrency: int = 0
    """0: found by trying."""
    limit: int | None = None
    held_out: float = 0.02
    """Share of the prompts kept from training."""
    most_failed: float = 0.02
    """Share of failed samples at which the campaign stops."""


class TrainPart(Part, frozen=True, kw_only=True):
    """How drafts are trained. Several amounts of samples are the points of the forecast."""

    samples: tuple[int, ...] = ()
    """Empty: one training on all."""
    arguments: tuple[str, ...] = ()
    """Further options of `alula train reference`, or of `alula train start`."""
    untrained: bool = False
    """Train one draft for a single step, to compare with."""
    gpus: int = 0
    """How many GPUs a training takes from the queue (reference trainer)."""


class BenchPart(Part, frozen=True, kw_only=True):
    """How configurations are measured. Greedy, so that the answers can be compared word for word."""

    prompts: str
    limit: int | None = None
    num_steps: tuple[int, ...] = (3,)
    concurrency: tuple[int, ...] = (1,)
    max_tokens: int = 256
    repeats: int = 1


class LimitsPart(Part, frozen=True, kw_only=True):
    """Where a campaign stops and asks."""

    hours: float | None = None
    """Of its steps, one after another."""
    gpu_hours: float | None = None
    price_per_gpu_hour: float | None = None
    currency: str = ""


class ForecastPart(Part, frozen=True, kw_only=True):
    """Points from elsewhere, and amounts to foretell."""

    points: str = ""
    """CSV or JSONL as `alula train forecast` reads it; taken where the campaign trains too few drafts."""
    at: tuple[float, ...] = ()
    """Besides twice, four and eight times the largest training."""


class Specification(Part, frozen=True, kw_only=True):
    """The whole file."""

    name: str
    speedup: float = 1.5
    """The goal, over the target alone."""
    target: TargetPart
    draft: DraftPart | None = None
    data: DataPart
    regenerate: RegeneratePart = RegeneratePart()
    train: TrainPart | None = None
    """Without this table nothing is trained: the present draft is measured, and the data made ready."""
    bench: BenchPart
    limits: LimitsPart = LimitsPart()
    forecast: ForecastPart = ForecastPart()


Trainer = Literal["reference", "specforge"]


def specification_of(campaign: Campaign) -> Specification:
    """What a campaign's row asks for.

    Raises:
        CampaignError: Another release wrote it, or it is damaged.
    """
    try:
        return msgspec.convert(campaign.specification, Specification)
    except msgspec.ValidationError as error:
        raise CampaignError(
            f"the stored specification of campaign {campaign.name} cannot be read: {error}",
            f"give its file again: alula campaign resume {campaign.name} --file FILE",
        ) from error
