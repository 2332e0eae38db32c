"""Every command with `--json` and the types of what it prints."""

from console.json_forms import bench, campaign, check, data, host, jobs, regen, train, upkeep
from console.json_forms.common import Forms

_FAMILIES = (bench, campaign, check, data, host, jobs, regen, train, upkeep)
FORMS: Forms = dict(sorted(item for family in _FAMILIES for item in family.FORMS.items()))
