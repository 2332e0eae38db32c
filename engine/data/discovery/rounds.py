"""One scout on its way: broad questions, follow-ups on what looks promising, then what is still missing."""

import time
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import TypeVar

from engine.data.discovery.answers import Unanswered
from engine.data.discovery.fit import rated
from engine.data.discovery.gate import HubGone
from engine.data.discovery.hub import Hub, Listed
from engine.data.discovery.leads import Lead, looked_at
from engine.data.discovery.scouts import Scout

LISTED = 40
"""Sets of one answer that are looked through."""
LOOKS = 10
"""Leads of which the first rows are asked for, in each of the two later rounds."""
AUTHORS = 2
GOOD = 0.45
"""Fit from which on a set counts as found."""

Answer = TypeVar("Answer")
Tell = Callable[["ScoutRun", str], None]


class ScoutRun:
    """A scout's questions and what it has found. Runs in a thread of its own."""

    def __init__(self, scout: Scout, hub: Hub, most: int, tell: Tell) -> None:
        """`most`: questions at most; `tell` is called after each, with a word on what was asked."""
        self.scout = scout
        self.leads: dict[str, Lead] = {}
        self.round = "broad"
        self.asked = 0
        self.to_ask = 0
        self.unanswered = 0
        self.problem = ""
        self._hub = hub
        self._most = most
        self._tell = tell
        self._now = time.time()

    @property
    def good(self) -> list[Lead]:
        """What it would keep, the best first."""
        found = [lead for lead in self.leads.values() if lead.usable and lead.score >= GOOD]
        return sorted(found, key=lambda lead: (-lead.score, lead.id))

    def run(self) -> None:
        """All rounds. A question without an answer is counted, and the next one asked."""
        self._broad()
        self._follow_up()
        self._fill_gaps()

    def _broad(self) -> None:
        questions = [(text, ()) for text in self.scout.searches] + [(None, tags) for tags in self.scout.filters]
        self._begin("broad", len(questions))
        for search, tags in questions:
            self._list(search=search, tags=tags)

    def _follow_up(self) -> None:
        chosen = self._best(LOOKS)
        self._begin("follow-up", len(chosen) + AUTHORS)
        self._look(chosen)
        authors = list(dict.fromkeys(lead.id.partition("/")[0] for lead in self.good))[:AUTHORS]
        for author in authors:
            self._list(author=author)

    def _fill_gaps(self) -> None:
        missing = [name for name in self.scout.known if name not in self.leads]
        words = self.scout.words
        thin = len(self.good) < self.scout.wanted
        searches = [f"{one} {other}" for one, other in pairwise(words)][:4] if thin else []
        self._begin("gaps", len(missing) + len(searches) + LOOKS)
        for name in missing:
            self._find(name)
        for text in searches:
            self._list(search=text)
        known = [self.leads[name] for name in self.scout.known if name in self.leads]
        self._look([*(lead for lead in known if not lead.looked), *self._best(LOOKS if thin else LOOKS // 2)])

    def _find(self, name: str) -> None:
        """A name that must not be missed; where the hub knows none, whatever is called nearly so."""
        before = self.unanswered
        found = self._ask(f"known name {name}", lambda: self._hub.info(name))
        if found is not None:
            self._take([found])
        elif self.unanswered == before:
            self._list(search=name.rpartition("/")[2])

    def _list(self, search: str | None = None, tags: tuple[str, ...] = (), author: str | None = None) -> None:
        what = f"search {search}" if search else f"tags {', '.join(tags)}" if tags else f"sets of {author}"
        found = self._ask(what, lambda: self._hub.list(search=search, tags=tags, author=author, limit=LISTED))
        self._take(found or ())

    def _look(self, leads: Iterable[Lead]) -> None:
        for lead in {lead.id: lead for lead in leads}.values():
            if not lead.listed.private and self._may_ask():
                before = self.unanswered
                viewed = self._ask(f"look at {lead.id}", lambda name=lead.id: self._hub.view(name))  # type: ignore[misc]
                if self.unanswered == before:
                    self.leads[lead.id] = rated(looked_at(lead, viewed), self.scout, self._now)

    def _best(self, count: int) -> list[Lead]:
        """Leads that were not looked at yet and would be worth it."""
        open_leads = [lead for lead in self.leads.values() if not lead.looked and not lead.benchmark]
        return sorted(open_leads, key=lambda lead: (-lead.score, lead.id))[:count]

    def _take(self, found: Iterable[Listed]) -> None:
        for listed in found:
            if listed.id not in self.leads:
                self.leads[listed.id] = rated(Lead(listed=listed), self.scout, self._now)

    def _begin(self, name: str, questions: int) -> None:
        self.round = name
        self.to_ask = min(self._most, self.asked + questions)
        self._tell(self, "")

    def _may_ask(self) -> bool:
        return self.asked < self._most

    def _ask(self, what: str, ask: Callable[[], Answer]) -> Answer | None:
        if not self._may_ask():
            return None
        self.asked += 1
        self.to_ask = max(self.to_ask, self.asked)
        try:
            return ask()
        except (Unanswered, HubGone) as error:
            self.unanswered += 1
            self.problem = f"{what}: {error}"
            return None
        finally:
            self._tell(self, what)
