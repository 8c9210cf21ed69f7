from collections.abc import Sequence

import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError, ResetNeeded

from wmrl_env.envs.core import EpisodeCore, parse_reply
from wmrl_env.tasks import ResearchTask
from wmrl_env.testing import HashBackend
from world_models.outcomes import Backend, Outcome, Status, Submission, ungraded


class Flaky(HashBackend):
    """Loses every submission whose code holds ``lost`` the first ``failures`` times that it is asked."""

    def __init__(self, failures: int) -> None:
        super().__init__()
        self.failures = failures
        self.asked: list[list[str]] = []

    def execute(self, submissions: Sequence[Submission]) -> list[Outcome]:
        self.asked.append([submission.code for submission in submissions])
        earlier = sum("lost" in code for codes in self.asked[:-1] for code in codes)
        return [
            ungraded("gone", "sandbox") if "lost" in submission.code and earlier < self.failures else outcome
            for submission, outcome in zip(submissions, super().execute(submissions), strict=True)
        ]


def make_core(task: ResearchTask, backend: Backend, num_envs: int = 1, **kwargs: object) -> EpisodeCore:
    settings = {"max_turns": 3, "reward": "improvement", "ungraded_retries": 2, **kwargs}
    core = EpisodeCore(num_envs, task=task, backend=backend, **settings)
    rows = np.arange(num_envs)
    core.reset(rows, [np.random.default_rng(row) for row in rows], [{}] * num_envs)
    return core


@pytest.mark.parametrize(
    ("reply", "code", "final"),
    [
        ("x = 1", "x = 1", False),
        ("FINAL", "", True),
        ("x = 1\nFINAL", "x = 1", True),
        ("FINAL\nx = 1", "x = 1", True),
        ("My best:\n```python\nx = 1\n```\n  FINAL\r\nbye", "x = 1", True),
        ("```python\nx = 1\n```\nor\n```python\nx = 2\n```", "x = 2", False),
        ("x = 'FINAL'", "x = 'FINAL'", False),
        ("FINALLY = 1", "FINALLY = 1", False),
        ("", "", False),
        ("INFO", None, False),
        ("What columns are there?\n  INFO  \n", None, False),
        ("INFO\nFINAL", None, True),
        ("INFO\n```python\nx = 1\n```", "x = 1", False),
        ("INFORM = 1", "INFORM = 1", False),
        ("x = 'INFO'", "x = 'INFO'", False),
        ("```python\nx = 1\nFINAL\n```", "x = 1\nFINAL", False),  # of the block, which is never cut
        ('```python\ns = """\nFINAL\n"""\n```\nFINAL', 's = """\nFINAL\n"""', True),
        ("```python\nx = 1\nFINAL", "x = 1", True),
        ("Here it is: ```python\nx = 1\n```", "x = 1", False),
        ("<think>```python\nx = (\n```</think>\n```python\nx = 2\n```", "x = 2", False),
        ("Use ```python like this.\n```python\nx = 3\n```", "x = 3", False),
    ],
)
def test_reply_is_parsed_into_code_and_final(reply: str, code: str | None, final: bool) -> None:
    parsed, ends = parse_reply(reply)
    assert (parsed if parsed is None else parsed.strip(), ends) == (code, final)


def test_asking_for_information_costs_a_turn_and_no_execution(
    fake_task: ResearchTask, hash_backend: HashBackend
) -> None:
    asked = Flaky(0)
    core = make_core(fake_task, asked, num_envs=3)
    step = core.step(np.arange(3), ["x = 1", "INFO", "INFO"])
    assert asked.asked == [["x = 1"]]
    assert step.info["status"].tolist()[1:] == ["INFO", "INFO"]
    assert step.info["code"].tolist() == ["x = 1", "", ""]
    assert step.rewards[1:].tolist() == [0, 0] and step.info["score"][1] == 0 and step.info["graded"].all()
    assert core.turn.tolist() == [1, 1, 1]
    assert fake_task.details in core.observation(1)["feedback"]
    assert fake_task.text in fake_task.details and "scikit-learn" in fake_task.details


def test_information_is_the_same_in_every_backend(fake_task: ResearchTask, hash_backend: HashBackend) -> None:
    infos = []
    for backend in (hash_backend, Flaky(9)):
        step = make_core(fake_task, backend).step(np.array([0]), ["INFO"])
        infos.append({key: value.tolist() for key, value in step.info.items()} | {"reward": step.rewards.tolist()})
    assert repr(infos[0]) == repr(infos[1])


def test_final_alone_ends_the_episode_and_costs_nothing(fake_task: ResearchTask, hash_backend: HashBackend) -> None:
    core = make_core(fake_task, hash_backend)
    core.step(np.array([0]), ["x = 1"])
    best = core.rule.best[0]
    last = core.step(np.array([0]), ["FINAL"])
    assert last.terminated[0] and not last.truncated[0]
    assert last.info["status"][0] == "MALFORMED"
    assert last.info["score"][0] == last.rewards[0] == 0.0
    assert core.rule.best[0] == best


def test_backend_sees_task_code_and_history(fake_task: ResearchTask) -> None:
    seen: list[Submission] = []

    class Watching(HashBackend):
        def execute(self, submissions: Sequence[Submission]) -> list[Outcome]:
            seen.extend(submissions)
            return super().execute(submissions)

    core = make_core(fake_task, Watching())
    for turn in range(3):
        core.step(np.array([0]), [f"x = {turn}"])
    assert [submission.code for submission in seen] == ["x = 0", "x = 1", "x = 2"]
    assert {(submission.task_id, submission.task_text) for submission in seen} == {(fake_task.id, fake_task.text)}
    assert [len(submission.history) for submission in seen] == [0, 1, 2]
    assert seen[2].history[:1] == seen[1].history


def test_one_call_of_the_backend_a_step(fake_task: ResearchTask, hash_backend: HashBackend) -> None:
    core = make_core(fake_task, hash_backend, num_envs=5)
    core.step(np.arange(5), [f"x = {i}" for i in range(5)])
    core.step(np.array([1, 3]), ["x = 7", "x = 8"])
    assert hash_backend.calls == [5, 2]
    assert core.turn.tolist() == [1, 2, 1, 2, 1]


def test_only_lost_rows_are_tried_again(fake_task: ResearchTask) -> None:
    backend = Flaky(failures=2)
    core = make_core(fake_task, backend, num_envs=3)
    step = core.step(np.arange(3), ["x = 1", "lost = 1", "x = 2"])
    assert backend.asked == [["x = 1", "lost = 1", "x = 2"], ["lost = 1"], ["lost = 1"]]
    assert step.info["graded"].all() and not step.truncated.any()
    assert core.ungraded_count.tolist() == [0, 0, 0]


def test_an_outcome_that_stays_unknown_truncates_and_pays_the_mean(fake_task: ResearchTask) -> None:
    core = make_core(fake_task, Flaky(failures=100), num_envs=3, reward="score")
    first = core.step(np.arange(3), ["x = 1", "x = 2", "x = 3"])
    step = core.step(np.arange(3), ["x = 4", "lost = 1", "x = 5"])
    assert step.truncated.tolist() == [False, True, False]
    assert not step.terminated.any()
    assert step.info["graded"].tolist() == [True, False, True]
    assert step.info["status"][1] == "UNGRADED"
    assert np.isnan(step.info["score"][1]) and np.isnan(step.info["member_scores"][1]).all()
    assert step.rewards[1] == pytest.approx(np.mean([*first.rewards, *step.rewards[[0, 2]]]))
    assert core.ungraded_count.tolist() == [0, 1, 0]
    with pytest.raises(ResetNeeded):
        core.step(np.array([1]), ["x = 1"])


def test_no_retries_when_asked_for_none(fake_task: ResearchTask) -> None:
    backend = Flaky(failures=1)
    core = make_core(fake_task, backend, ungraded_retries=0)
    assert core.step(np.array([0]), ["lost = 1"]).truncated[0]
    assert len(backend.asked) == 1


def test_members_of_a_certain_outcome_agree(fake_task: ResearchTask, hash_backend: HashBackend) -> None:
    core = make_core(fake_task, hash_backend, num_envs=2)
    info = core.step(np.arange(2), ["x = 1", "def broken(:"]).info
    assert info["member_scores"].shape == (2, 4)
    assert len(set(info["member_scores"][0])) > 1
    assert info["member_scores"][1].tolist() == [0.0] * 4


def test_improvements_add_up_to_the_best_score(fake_task: ResearchTask, hash_backend: HashBackend) -> None:
    core = make_core(fake_task, hash_backend, max_turns=6)
    steps = [core.step(np.array([0]), [f"x = {i}"]) for i in range(6)]
    assert sum(step.rewards[0] for step in steps) == pytest.approx(max(step.info["score"][0] for step in steps))
    assert [bool(step.terminated[0]) for step in steps] == [False] * 5 + [True]


def test_a_backend_that_loses_count_is_named(fake_task: ResearchTask) -> None:
    class Short(HashBackend):
        def execute(self, submissions: Sequence[Submission]) -> list[Outcome]:
            return super().execute(submissions)[1:]

    core = make_core(fake_task, Short(), num_envs=2)
    with pytest.raises(RuntimeError, match=r"Short.execute returned 1 outcomes for 2"):
        core.step(np.arange(2), ["x = 1", "x = 2"])


def test_misuse_is_refused(fake_task: ResearchTask, hash_backend: HashBackend) -> None:
    core = EpisodeCore(1, task=fake_task, backend=hash_backend, max_turns=1, reward="score", ungraded_retries=0)
    first, rng = np.array([0]), [np.random.default_rng(0)]
    with pytest.raises(ResetNeeded):
        core.step(first, ["x = 1"])
    with pytest.raises(ValueError, match=r"\['taks'\]"):
        core.reset(first, rng, [{"taks": "churn"}])
    with pytest.raises(TypeError):
        core.reset(first, rng, [{"group": 1.5}])
    core.reset(first, rng, [{"group": 7}])
    assert core.group[0] == 7
    with pytest.raises(TypeError, match="an action is a string, got int"):
        core.step(first, [3])  # type: ignore[list-item]
    core.close()
    core.close()
    with pytest.raises(ClosedEnvironmentError):
        core.reset(first, rng, [{}])


def test_members_are_counted_where_the_backend_does_not_say(fake_task: ResearchTask) -> None:
    class Silent:
        lengths = (3, 0)

        def execute(self, submissions: Sequence[Submission]) -> list[Outcome]:
            scores = (0.2, 0.4, 0.6)
            return [
                Outcome(Status.VALID, 0.4, "", None, 0.0, "world_model", 0.1, scores[:length])
                for _, length in zip(submissions, self.lengths, strict=True)
            ]

    backend = Silent()
    core = make_core(fake_task, backend, num_envs=2)
    info = core.step(np.arange(2), ["x = 1", "x = 2"]).info
    assert info["member_scores"].tolist() == [[0.2, 0.4, 0.6], [0.4] * 3]
    backend.lengths = (0, 0)
    assert core.step(np.arange(2), ["x = 3", "x = 4"]).info["member_scores"].shape == (2, 3)
    backend.lengths = (3, 2)
    with pytest.raises(ValueError, match=r"Silent.execute returned outcomes with \[2, 3\] member scores"):
        core.step(np.arange(2), ["x = 5", "x = 6"])


@pytest.mark.parametrize("bad", [{"max_turns": 2.5}, {"max_turns": "4"}, {"ungraded_retries": 1.5}])
def test_counts_are_whole_numbers(fake_task: ResearchTask, hash_backend: HashBackend, bad: dict[str, object]) -> None:
    with pytest.raises(TypeError, match=f"{next(iter(bad))} must be an int"):
        make_core(fake_task, hash_backend, **bad)


@pytest.mark.parametrize("bad", [{"max_turns": 0}, {"ungraded_retries": -1}, {"reward": "money"}])
def test_arguments_out_of_range_are_refused(
    fake_task: ResearchTask, hash_backend: HashBackend, bad: dict[str, object]
) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        make_core(fake_task, hash_backend, **bad)
