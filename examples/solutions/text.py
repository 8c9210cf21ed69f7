"""Reviews of fine foods (task "foods"): words and pairs of words, weighed by logistic regression."""

import os
from pathlib import Path

import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

data = Path(os.environ["DATA_DIR"])
train, test = pd.read_csv(data / "train.csv"), pd.read_csv(data / "test.csv")

model = make_pipeline(
    TfidfVectorizer(ngram_range=(1, 2), min_df=3, sublinear_tf=True),
    LogisticRegression(C=4.0, max_iter=1000),
)
model.fit(train["review"], train["score"])
positive = sorted(train["score"].unique())[-1]
probability = model.predict_proba(test["review"])[:, list(model.classes_).index(positive)]

pd.DataFrame({"row_id": test["row_id"], "score": probability}).to_csv(os.environ["SUBMISSION_PATH"], index=False)
