"""Of `alula campaign`."""

from typing import TypedDict

from console.json_forms.common import Forms
from state.records.campaigns import CampaignView


class CampaignStarted(TypedDict):
    """The campaign that has started."""

    campaign_id: int
    name: str
    folder: str


class CampaignNamed(TypedDict):
    """The campaign that was asked to stop or to go on."""

    campaign_id: int
    name: str


class CampaignSteps(TypedDict):
    """The steps that there would be, in order."""

    name: str
    steps: list[str]


class NextStep(TypedDict):
    """The step that is proposed, and what to type for it."""

    name: str
    next: str
    command: str


class Written(TypedDict):
    """The file that was written."""

    file: str


FORMS: Forms = {
    "campaign document": {"": Written},
    "campaign next": {"": NextStep, "--run": CampaignNamed},
    "campaign resume": {"": CampaignNamed},
    "campaign start": {"": CampaignStarted, "--dry-run": CampaignSteps},
    "campaign status": {"": CampaignView, "--all": list[CampaignView]},
    "campaign stop": {"": CampaignNamed},
}
