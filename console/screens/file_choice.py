"""Choose a file from a tree of folders."""

from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import DirectoryTree


class FileChoice(ModalScreen[Path]):
    """Returns the file, or `None` after Escape."""

    DEFAULT_CSS = """
    FileChoice {
        align: center middle;
        & DirectoryTree { width: 90%; height: 90%; border: round $primary; background: $surface; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss", "Back", show=False)]

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def compose(self) -> ComposeResult:
        """The tree."""
        yield DirectoryTree(self._folder)

    def on_directory_tree_file_selected(self, event: DirectoryTree.FileSelected) -> None:
        """Return it."""
        self.dismiss(event.path)
