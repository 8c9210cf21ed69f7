"""House prices in Ames (task "ames"): boosted trees on the logarithm of the price."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

data = Path(os.environ["DATA_DIR"])
train = pd.read_csv(data / "train.csv", index_col="row_id")
test = pd.read_csv(data / "test.csv", index_col="row_id")

price = train.pop("Sale_Price")
text = train.select_dtypes(exclude="number").columns
for column in text:
    known = train[column].astype("category").cat.categories
    train[column] = pd.Categorical(train[column], known).codes
    test[column] = pd.Categorical(test[column], known).codes

model = HistGradientBoostingRegressor(learning_rate=0.05, max_iter=300, random_state=0)
model.fit(train, np.log1p(price))

submission = pd.DataFrame({"Sale_Price": np.expm1(model.predict(test))}, index=test.index)
submission.to_csv(os.environ["SUBMISSION_PATH"])
print(f"trained on {len(train)} houses")
