"""All that a run has stored, of one folder or of all shards of a fleet, read at one moment."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from engine.regen.guard import Known, read_known
from engine.regen.identity import differences
from engine.regen.plan import read_plan
from engine.regen.records import Rejection, Stored, Tally
from engine.regen.shards import shard_folders
from engine.regen.store import Store


class Whole:
    """Reads as one store does. Answers come shard after shard, within each in the order of the inputs."""

    def __init__(self, folder: Path) -> None:
        self.folders = shard_folders(folder)
        self._stores: list[Store] = []
        try:
            for one in self.folders:
                self._stores.append(Store(one, read_only=True))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the files."""
        for store in self._stores:
            store.close()

    def answers(self) -> Iterator[Stored]:
        """Every answered sample.

        Raises:
            ValueError: An answer is not what was stored.
        """
        for store in self._stores:
            yield from store.answers()

    def rejections(self) -> Iterator[Rejection]:
        """Input records that could not be used."""
        for store in self._stores:
            yield from store.rejections()

    def tally(self) -> Tally:
        """Counts of everything."""
        tallies = [store.tally() for store in self._stores]
        failed: Counter[str] = Counter()
        for tally in tallies:
            failed.update(tally.failed)
        return Tally(
            total=sum(tally.total for tally in tallies),
            rejected=sum(tally.rejected for tally in tallies),
            done=sum(tally.done for tally in tallies),
            cut_by_length=sum(tally.cut_by_length for tally in tallies),
            prompt_tokens=sum(tally.prompt_tokens for tally in tallies),
            completion_tokens=sum(tally.completion_tokens for tally in tallies),
            failed=dict(failed),
        )

    def flaws(self) -> dict[str, dict[str, int]]:
        """Flawed answers of each input, by kind."""
        found: dict[str, Counter[str]] = {}
        for store in self._stores:
            for source, kinds in store.flaws().items():
                found.setdefault(source, Counter()).update(kinds)
        return {source: dict(kinds) for source, kinds in found.items()}

    def sources(self) -> list[tuple[str, str, int]]:
        """Path, SHA-256 and record count of each input; each shard has read all of them."""
        return self._stores[0].sources()

    def known(self) -> Known | None:
        """Who answered."""
        found = [one for folder in self.folders if (one := read_known(folder)) is not None]
        if not found:
            return None
        return Known(found[0].reference, {url: who for one in found for url, who in one.servers.items()})

    def problems(self) -> list[str]:
        """Why the shards are not one whole: each input record must lie in exactly one of them."""
        if len(self.folders) == 1 and read_plan(self.folders[0]).shard is None:
            return []
        return [problem for place in range(len(self.folders)) for problem in self._problems_of(place)]

    def _problems_of(self, place: int) -> Iterator[str]:
        folder, store = self.folders[place], self._stores[place]
        shard = read_plan(folder).shard
        if shard is None or (shard.number, shard.of) != (place + 1, len(self.folders)):
            yield f"{folder.name} is {shard or 'no shard'} where shard {place + 1} of {len(self.folders)} belongs"
            return
        if store.sources() != self.sources():
            yield f"{folder.name} has not read the same inputs as {self.folders[0].name}"
        first, own = read_known(self.folders[0]), read_known(folder)
        changed = differences(first.reference, own.reference) if first and own else []
        if changed:
            yield f"{folder.name} was not answered by what answered {self.folders[0].name}: {'; '.join(changed)}"
        strange = next((name for name in store.prompt_ids() if not shard.holds(name)), None)
        if strange is not None:
            yield f"{strange!r} lies in {folder.name}, where it does not belong"
