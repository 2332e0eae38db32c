"""Commands that hand a string on to another shell: `bash -c '...'`, `ssh host '...'`, `bash <<EOF`."""

import re

from engine.check.sources.text import Text

SHELLS = {"bash", "sh", "zsh", "dash", "ksh"}
HAND_ON = {"ssh", "tmux", "screen", "su", "runuser", "script", "watch", "timeout", "parallel", "xargs"}
STARTS_SERVER = re.compile(r"(sglang[.\w]*launch_server|\bsglang\s+serve\b|\bvllm\s+serve\b|vllm\.entrypoints)")


def nested_script(words: list[Text]) -> int | None:
    """Index of the word that holds a whole command for another shell."""
    for index, word in enumerate(words):
        if index and " " in word.characters.strip() and STARTS_SERVER.search(word.characters):
            names = {earlier.characters.rsplit("/", 1)[-1] for earlier in words[:index]}
            takes_command = re.fullmatch(r"-[a-z]*c", words[index - 1].characters) is not None
            if (names & SHELLS and takes_command) or names & HAND_ON:
                return index
    return None


def reads_script(command: str) -> bool:
    """Whether a command runs what it reads from standard input."""
    words = command.replace("|", " ").split()
    return any(word.rsplit("/", 1)[-1] in (*SHELLS, "ssh") for word in words[:1] + words[-1:])
