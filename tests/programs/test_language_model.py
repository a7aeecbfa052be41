"""examples/language_model: losses as JAX's, the same texts as plain NumPy writes, and a language that is learned."""
import jax
import numpy as np
import pytest

import reactant
from examples.language_model import in_jax, measure
from examples.language_model.model import begin, generate, loss, train
from examples.language_model.text import entropy, right, text, written


def test_the_grammar_knows_its_own_sentences():
    numbers = text(2000)
    assert right(numbers) == (len(written(numbers).split(".")) - 2,) * 2 and right(numbers)[0] > 50
    assert right(np.concatenate([numbers[:500], numbers[:500][::-1]]))[0] < 40
    assert 0.2 < entropy(500) < 0.35


def test_writing_is_numpys_letter_for_letter():
    weights = begin(16, 1, 6)
    random = np.random.default_rng(1).random((3, 6), np.float32)
    expected = generate(weights, random)
    assert np.array_equal(reactant.jit(generate)(weights, random), expected) and len(set(expected.ravel())) > 4


@pytest.mark.slow
def test_training_is_jaxs(tmp_path):
    tokens = measure.batches(20, 4, length=12)
    ours, theirs = begin(16, 2, 12), jax.tree.map(jax.numpy.array, begin(16, 2, 12))
    theirs, expected = in_jax.train(theirs, tokens)
    losses = reactant.jit(train)(ours, tokens)
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    np.testing.assert_allclose(ours["blocks"][1]["down"], theirs["blocks"][1]["down"], atol=1e-3)
    assert losses[-1] < 0.8 * losses[0] and loss(ours, tokens[-1]) < losses[-1]


@pytest.mark.slow
def test_the_language_is_learned(tmp_path):
    pytest.importorskip("matplotlib", reason="it draws the picture")
    from examples.language_model.picture import draw

    losses, texts = measure.learned(300)
    counts = np.sum([right(each) for each in texts], axis=0)
    assert losses[-20:].mean() < 0.55 and counts[0] > 0.3 * counts[1]
    draw(losses, entropy(), [written(each) for each in texts[:2]], tmp_path / "model.png")
    assert (tmp_path / "model.png").stat().st_size > 5000
