"""`alula` and `python -m console`."""


def main() -> None:
    """Run the command line; a plain `alula` opens the console."""
    from console.command_line.root import alula

    alula(prog_name="alula")


if __name__ == "__main__":
    main()
