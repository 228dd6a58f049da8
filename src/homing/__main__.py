"""The command `homing`. Its verbs live in `homing.cli`."""


def main() -> None:
    from homing.cli import main as run

    run()


if __name__ == "__main__":
    main()
