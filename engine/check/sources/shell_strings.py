"""Commands that hand a string on to another shell: `bash -c '...'`, `ssh host '...'`, `bash <<EOF`."""

import re

from engine.check.sources.text import Text

SHELLS = {"bash", "sh", "zsh", "dash", "ksh"}
HAND_ON = {"ssh", "tmux", "screen", "su", "runuser", "script", "watch", "timeout", "parallel", "xargs"}
STARTS_SERVER = re.compile(r"(sglang[.\w]*launch_server|\bsglang\s+serve\b|\bvllm\s+serve\b|vllm\.entrypoints)")


def nested_script(words: list[Text]) -> tuple[int, Text] | None:
    """The index of the word that holds a whole command for another shell, and that command."""
    for index, word in enumerate(words):
        if not index or " " not in word.characters.strip() or not STARTS_SERVER.search(word.characters):
            continue
        names = {earlier.characters.rsplit("/", 1)[-1] for earlier in words[:index]}
        takes_command = re.fullmatch(r"-[a-z]*c", words[index - 1].characters) is not None
        if "sbatch" in names and word.characters.startswith("--wrap="):
            return index, word.part(len("--wrap="))
        wrapped = "sbatch" in names and words[index - 1].characters == "--wrap"
        if (names & SHELLS and takes_command) or names & HAND_ON or wrapped:
            return index, word
    return None


def reads_script(command: str) -> bool:
    """Whether a command runs what it reads from standard input."""
    words = command.replace("|", " ").split()
    return any(word.rsplit("/", 1)[-1] in (*SHELLS, "ssh") for word in words[:1] + words[-1:])
