"""What the vocabularies say of themselves."""

from blazar.domain.kinds import Task


def test_whatever_reads_text_can_be_asked_about_it() -> None:
    """Beside what a child was started for, and nothing else."""
    for served in (Task.CHAT, Task.EMBED, Task.RERANK):
        assert [asked for asked in Task if served.serves(asked)] == [served, Task.TEXT]
    assert [asked for asked in Task if Task.IMAGE.serves(asked)] == [Task.IMAGE]


def test_what_reads_a_whole_input_at_once() -> None:
    """Vectors, and scores that are made of them."""
    assert [task for task in Task if task.pools] == [Task.EMBED, Task.RERANK]
