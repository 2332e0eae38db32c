"""Choose a file from a tree of folders."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import DirectoryTree


def choose_path(
    app: App[Any], chosen: Callable[[Path], None], folder: Path | None = None, *, folders: bool = False
) -> None:
    """Ask for a file, from a folder on (the present one where none is given); nothing happens after Escape."""

    def answered(path: Path | None) -> None:
        if path is not None:
            chosen(path)

    app.push_screen(FileChoice(folder or Path.cwd(), folders=folders), answered)


class FileTree(DirectoryTree):
    """Signs that every terminal has."""

    ICON_NODE = "+ "
    ICON_NODE_EXPANDED = "- "
    ICON_FILE = "  "


class FileChoice(ModalScreen[Path]):
    """Returns the file, or `None` after Escape."""

    DEFAULT_CSS = """
    FileChoice {
        align: center middle;
        & DirectoryTree { width: 90%; height: 90%; border: round $primary; background: $surface; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "Back", show=False),
        Binding("f", "take_folder", "Folder", show=False),
        Binding("u", "up", "Up", show=False),
    ]

    def __init__(self, folder: Path, *, folders: bool = False) -> None:
        """Begin in a folder; with `folders`, `f` takes the folder under the cursor."""
        super().__init__()
        self._folder = folder
        self._folders = folders

    def compose(self) -> ComposeResult:
        """The tree."""
        tree = FileTree(self._folder)
        folder = "   f: the folder" if self._folders else ""
        tree.border_subtitle = f"Enter: the file{folder}   u: one up   Esc: back"
        yield tree

    def action_take_folder(self) -> None:
        """Return the folder under the cursor, or that of the file there."""
        node = self.query_one(DirectoryTree).cursor_node
        if self._folders and node is not None and node.data is not None:
            path = node.data.path
            self.dismiss(path if path.is_dir() else path.parent)

    def action_up(self) -> None:
        """Begin one folder higher."""
        tree = self.query_one(DirectoryTree)
        tree.path = Path(tree.path).absolute().parent

    def on_directory_tree_file_selected(self, event: DirectoryTree.FileSelected) -> None:
        """Return it."""
        self.dismiss(event.path)
