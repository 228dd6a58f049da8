"""Files and programs of workspaces in a shared folder, as root and as an ordinary user."""

from support.sandboxes import Driver


def test_a_program_works_on_the_files_of_its_workspace_and_sees_no_other(driver: Driver) -> None:
    answer = driver.ask("shared")

    assert (answer["code"], answer["out"]) == (0, "written outside\nnotes.txt\n")
    assert answer["read"] == "written outside\nwritten inside\n"
    assert answer["listed"] == ["notes.txt"]
    assert "No such file or directory" in answer["err"]
    assert answer["owners"] == 1
