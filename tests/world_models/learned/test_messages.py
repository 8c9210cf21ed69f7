import json

import world_models
from tests.world_models.recordings import submission
from world_models.learned.messages import MessageBook, message_kind
from world_models.outcomes import Status


def test_messages_are_grouped_by_kind_and_told_for_the_solution(rows) -> None:
    book, kinds = MessageBook.collect(rows)
    assert len(book) == 2 and set(book.statuses) == {"RUNTIME_ERROR", "TIMEOUT"}
    for row, kind in zip(rows, kinds, strict=True):
        assert (kind == -1) == (row.outcome.status is Status.VALID)
    assert message_kind(rows[kinds.index(0)].outcome) is not None
    copy = MessageBook(json.loads(json.dumps(book.state())))
    assert copy.state() == book.state()
    nan = book.exceptions.index("ValueError")
    assert "line 7" in book.tell(nan, submission("holes"))
    elsewhere = world_models.Submission("t", "", "x = 1\nsolution.fit(A, b)")
    assert "line 2, in <module>\n    solution.fit(A, b)" in book.tell(nan, elsewhere)
    assert book.tell(nan, world_models.Submission("t", "", "x = 1")).startswith("ValueError")
