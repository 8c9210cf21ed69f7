"""Short programs, rehearsed and really executed: a rehearsal may not know, but it must not be wrong.

In the texts below a blank line ends a program. Each follows after HEAD.
"""

from __future__ import annotations

import contextlib
import io
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

from tests.world_models.rehearsal.test_rehearse import TASK
from world_models.outcomes import exception_class
from world_models.rehearsal import REHEARSAL_NAMES, rehearse
from world_models.rehearsal.interpreter import GiveUp, Interpreter, Scope
from world_models.rehearsal.inventory import read_inventory
from world_models.rehearsal.values import (
    Column,
    Const,
    Fault,
    Mapping,
    Matrix,
    Model,
    Sequence,
    Table,
    Vector,
    count_of,
)
from world_models.syntax import statements_of

HEAD = """import os, sys, json, math, re, csv, time, random, logging
import itertools, functools, collections, datetime, pathlib
import numpy as np
import pandas as pd
from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector, make_column_transformer
from sklearn.decomposition import NMF, PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, ExtraTreesClassifier, GradientBoostingClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.feature_selection import RFE, SelectFromModel, SelectKBest, SelectPercentile, VarianceThreshold, f_classif
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier, SGDClassifier
from sklearn.metrics import accuracy_score, confusion_matrix, log_loss, make_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, RandomizedSearchCV, ShuffleSplit, StratifiedKFold
from sklearn.model_selection import cross_val_predict, cross_val_score, cross_validate, train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, LabelBinarizer, LabelEncoder, MinMaxScaler
from sklearn.preprocessing import Normalizer, OneHotEncoder, OrdinalEncoder, PolynomialFeatures, PowerTransformer
from sklearn.preprocessing import QuantileTransformer, RobustScaler, SplineTransformer, StandardScaler, TargetEncoder
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
train = pd.read_csv(os.path.join(os.environ["DATA_DIR"], "train.csv"))
test = pd.read_csv(os.environ["DATA_DIR"] + "/test.csv")
numeric = ["age", "income", "p0", "p1", "p2"]
y = (train["risk"] == "yes").astype(int)
X, X_test = train[numeric].fillna(0), test[numeric].fillna(0)
"""

WORKS = {
    "frames": """
a = train.drop(columns=["risk"])
b = train.drop("risk", axis=1)
c = train.drop(columns="nothing", errors="ignore")

a = train.copy()
a.drop(columns=["risk", "note"], inplace=True)
b = a.columns.tolist()
c = a.shape[1]

a = train.copy()
t = a.pop("risk")
n = len(a.columns)

a = train.select_dtypes(include=["number"])
b = train.select_dtypes(exclude="number")
c = train.select_dtypes(np.number).columns.tolist()

a = train.select_dtypes(include=["object", "string"]).columns.tolist()
b = train[a].fillna("none")

a = train[numeric].fillna(train[numeric].median())
b = train.fillna({"age": 0})
c = train["age"].fillna(train["age"].mean())

a = train.dropna(subset=["age"])
b = a["age"].mean()

a = train[["income", "p0"]].dropna()
b = train["income"].dropna()
c = train.dropna(axis=1)

a = train.rename(columns={"age": "years"})
b = a["years"]
c = a.set_index("row_id")
d = c.reset_index()
e = c.reset_index(drop=True)

a = train.assign(rich=train["income"] > 900, twice=lambda d: d["income"] * 2)
b = a[["rich", "twice"]]

a = train.head()
b = train.tail(7)
c = train.sample(20, random_state=0)
d = train.iloc[:50]
e = train.iloc[-9:]

a = train.sort_values("income")
b = train.reindex(columns=["age", "new"], fill_value=0)
c = train.drop_duplicates()

a = train["town"].astype("category")
b = a.cat.codes
c = train["town"].astype("category").cat.codes.values

a = train["p0"].astype(int)
b = train["p0"].astype("float32")
c = train["town"].astype(str)
d = train[["p0", "p1"]].astype(float)

a = train.isnull().sum()
b = train["age"].isna()
c = train[numeric].isna().any(axis=1)
d = pd.isnull(train["age"])

a = train["income"].clip(0, 500)
b = train["income"].rank()
c = train["income"].shift(1)
d = train[numeric].abs()

a = train.groupby("town")["income"].mean()
b = train.groupby("town")["income"].transform("mean")
c = train["town"].map(a)

a = train["town"].value_counts()
b = train["town"].map(a)
c = train["town"].unique()
d = train["town"].nunique()

a = train.merge(test[["row_id"]], on="row_id", how="left")
b = train.describe()
c = train.corr(numeric_only=True)

a = pd.concat([train.drop(columns="risk"), test])
b = a.iloc[:len(train)]
c = a.iloc[len(train):]

a = pd.concat([train[["age"]], train[["income"]]], axis=1)
b = pd.concat([train["age"], test["age"]])

a = pd.get_dummies(train[["town", "p0"]])
b = pd.get_dummies(train["town"])
c = pd.get_dummies(train[numeric + ["town"]], columns=["town"], drop_first=True)

a, b = pd.get_dummies(train[["town"]]).align(pd.get_dummies(test[["town"]]), join="left", axis=1, fill_value=0)

codes, labels = pd.factorize(train["town"])
a = pd.to_numeric(train["town"], errors="coerce")
b = pd.to_numeric(train["p0"])

a = pd.to_datetime(train["day"])
b = a.dt.month
c = a.dt.dayofweek
d = (a - a.min()).dt.days

a = train["note"].fillna("").str.len()
b = train["note"].str.lower()
c = train["town"].str.contains("A")
d = train["note"].fillna("").str.split().apply(len)

a = train["income"].apply(lambda v: v * 2)
b = train[numeric].apply(lambda c: c.fillna(0))
c = train["town"].apply(len)

a = pd.DataFrame({"x": [1, 2, 3], "y": 0})
b = pd.DataFrame(np.zeros((4, 2)), columns=["u", "v"])
c = pd.DataFrame([[1, 2]], columns=["u", "v"])

a = pd.Series(y.values)
b = pd.cut(train["income"], 4, labels=False)
c = pd.qcut(train["income"], 4, labels=False)

a = train.loc[train["age"] > 30]
b = train.loc[:, ["age", "income"]]
c = train.loc[train["age"].notna(), "income"]
d = train[train["p0"] == 3]

a = train.iloc[:, 1]
b = train.iloc[:, 1:3]
c = train.iloc[0]
d = train.iloc[[0, 1, 2]]

for frame in (train, test):
    frame["ratio"] = frame["income"] / (frame["p0"] + 1)
    frame["month"] = pd.to_datetime(frame["day"]).dt.month

a = train.copy()
a["z"] = 1
a.loc[a["age"] > 50, "z"] = 2
del a["note"]
b = a.columns

a = train.values
b = train[numeric].values
c = train["p0"].to_numpy()
d = train[numeric].to_numpy(dtype=float)

a = train.memory_usage()
b = train.dtypes
c = train.index
d = train.empty
e = train.size
f = train.T.shape

a = train[numeric].mean()
b = train[numeric].std(axis=0)
c = train[numeric].sum(axis=1)
d = train["p0"].mode()[0]
e = train["income"].quantile(0.9)

a = train.nunique()
b = [c for c in train.columns if train[c].nunique() > 20]
c = train.isna().mean()

a = train.query("p0 > 3")
b = train.filter(like="p")
c = train["p0"].isin([1, 2])
d = train["p0"].between(1, 4)
e = train.duplicated()

a = train["p0"].replace({1: 0})
b = train["town"].replace("A", "B")
c = train["p0"].where(train["p0"] > 2)
d = train["p0"].to_frame()
""",
    "arrays": """
a = np.zeros(5)
b = np.ones((3, 2))
c = np.arange(10)
d = np.full(4, 0.5)
e = np.zeros_like(y)
f = np.empty((2, 2)).shape

a = np.log1p(train["income"].clip(0))
b = np.sqrt(train[["p0", "p1"]])
c = np.clip(X, 0, 1)
d = np.where(X["p0"] > 2, 1, 0)

a = np.hstack([X.values, X.values])
b = np.vstack([X.values, X_test.values])
c = np.column_stack([y, y])
d = np.c_[X.values, y.values]
e = np.concatenate([y, y])

a = np.mean([1, 2])
b = np.mean(X.values, axis=0)
c = np.max(y)
d = np.average([y, y], axis=0)
e = np.median(X.values, axis=1)

a = X.values
b = a[:, 0]
c = a[:10]
d = a[:, 1:3]
e = a.T
f = a.reshape(-1)
g = y.values.reshape(-1, 1)
h = a[0]
i = a[:, -1]

a = np.repeat(0.5, len(test))
b = np.tile([1, 2], 3)
c = np.argsort(y.values)
d = np.unique(y)
e = np.ravel(y)
f = np.isnan(X.values).any()

a = y.values
b = a[:, None]
c = a[None, :]
d = a[::2]
e = a[a > 0]
f = a.astype(float)
g = a.tolist()
h = a.mean()

a = np.random.rand(3)
b = np.random.RandomState(0).normal(size=4)
rng = np.random.default_rng(0)
c = rng.random(4)
np.random.seed(0)

a = X.values @ np.ones(5)
b = X.values.dot(np.ones((5, 2)))
c = np.linalg.norm(X.values)
d = np.asarray(X, dtype=float)
e = np.array([[1, 2], [3, 4]])

a = np.nan_to_num(train["age"])
b = np.isfinite(X.values).all()
c = np.argmax(np.ones((5, 3)), axis=1)
d = np.bincount(y)
e = np.digitize(X["p0"], [1, 2])

order = np.arange(len(train))
cut = int(0.8 * len(train))
a, b = order[:cut], order[cut:]
c = X.iloc[a]
d = y.iloc[b]
e = X.values[a]

a = np.outer(np.ones(3), np.ones(4))
b = np.abs(-y)
c = np.maximum(y, 0)
d = np.power(X, 2)
e = np.exp(-X.values)

a = X.values - X.values.mean(axis=0)
b = a / (a.std(axis=0) + 1e-9)
c = b ** 2
d = b.sum()
e = -b
f = ~(y == 1)
g = (y == 1) & (X["p0"] > 1)

a = np.stack([y.values, y.values])
b = a.mean(axis=0)
c = np.quantile(X.values, 0.5)
d = np.percentile(y, 10)
e = np.squeeze(y.values)
f = np.linalg.inv(np.eye(2))
""",
    "language": """
a = [1, 2] + [3]
b = a[0]
c = a[-1]
d = a[1:]
e = len(a)
f = a * 2
g = 2 in a
h = sorted(a)
a.append(4)
a.extend([5, 6])
i = sum([1, 2])
j = max(a)

a = {"x": 1}
a["y"] = 2
b = a.get("z", 3)
c = list(a.keys())
d = list(a.values())
e = dict(u=1)
f = "x" in a
g = {**a}
h = len(a)
i = list(a)
for k, v in a.items():
    j = k

a = "abc".upper()
b = f"{a}-{len(train)}"
c = "a,b".split(",")
d = "x" + "y"
e = "abc".replace("a", "b")
f = ",".join(["p", "q"])
g = "{}".format(3)
h = "a" in "abc"

def f(a, b=2, *rest, c=3, **more):
    return a + b + c
x = f(1)
y2 = f(1, b=4)
z = f(1, 2, 3, c=5, d=6)

class Box:
    size = 3
    def __init__(self, n):
        self.n = n
        self.items = []
    def grow(self, by=1):
        self.n += by
        return self
box = Box(2).grow()
a = box.n

class Base:
    def hello(self):
        return 1
class Derived(Base):
    def twice(self):
        return self.hello() * 2
a = Derived().twice()

i = 0
while i < 5:
    i += 1
    if i == 3:
        continue
    if i == 4:
        break
else:
    raise ValueError("never")

try:
    import xgboost
except ImportError:
    found = False
finally:
    done = True

try:
    train["nothing"]
except KeyError as error:
    found = str(error)
else:
    raise SystemExit(1)

try:
    int("x")
except (TypeError, ValueError):
    a = 1

with open(os.path.join(os.environ["DATA_DIR"], "train.csv")) as f:
    text = f.read()

with open("notes.txt", "w") as f:
    f.write("hello")
json.dump({"a": 1}, open("a.json", "w"))

a = [i * 2 for i in range(5)]
b = {c: train[c].nunique() for c in train.columns}
c = {1, 2}
d = sum(v for v in a)
e = [n for n in numeric if n != "age"]
f = [(i, j) for i, j in zip([1, 2], [3, 4])]

a, *b = [1, 2, 3]
(c, d), e = (1, 2), 3
f = g = 4
h: int = 5

a = 1 if len(train) > 10 else 2
b = not a
c = a and 3
d = None or 4
e = a is None
f = 1 < 2 < 3
g = a != 1
h = -a
i = 7 // 2
j = 7 % 4
k = 2 ** 5

def grade(model, X, y):
    def inner():
        nonlocal total
        total += 1
    total = 0
    inner()
    return total
a = grade(None, X, y)

counter = 0
def tick():
    global counter
    counter += 1
tick()
tick()

a = [x for x in range(3)]
b = list(enumerate(["u", "v"]))
c = list(range(2, 8, 2))
d = tuple(a)
e = set(a)
f = list(reversed(a))
g = any(a)
h = all(a)
i = min(3, 4)
j = abs(-3)
k = round(2.5)
l = isinstance(3, int)

base = pathlib.Path(os.environ["DATA_DIR"])
a = pd.read_csv(base / "test.csv")
b = (base / "train.csv").exists()
c = pathlib.Path("out.csv").name
d = base.joinpath("train.csv")
e = str(base)

a = os.environ.get("NOTHING", "x")
b = os.getenv("DATA_DIR")
c = os.path.exists("nothing")
d = os.environ.get("SUBMISSION_PATH")
e = os.path.dirname(d)

start = time.time()
a = math.sqrt(4)
b = math.log(len(train))
logging.basicConfig()
random.seed(0)
c = collections.Counter([1, 1])
d = datetime.date(2020, 1, 1)
e = re.sub("a", "b", "abc")
print("took", time.time() - start)

if __name__ == "__main__":
    a = 1
assert len(train) > 0
pass

def main():
    best, best_score = None, -1
    for depth in (2, 3):
        score = cross_val_score(DecisionTreeClassifier(max_depth=depth), X, y, cv=3).mean()
        if score > best_score:
            best, best_score = depth, score
    return best
a = main()

params = {"max_depth": 3, "random_state": 0}
model = DecisionTreeClassifier(**params)
a = [X, y]
model.fit(*a)
b = (n := 3)

@functools.lru_cache
def square(v):
    return v * v
a = square(3)
""",
    "models": """
model = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, y)
p = model.predict_proba(X_test)[:, 1]
q = model.predict(X_test)
r = model.score(X, y)
s = model.feature_importances_
t = model.classes_

model = LogisticRegression(max_iter=50)
model.fit(X, y)
p = model.predict_proba(X_test)
q = model.decision_function(X_test)
c = model.coef_

a, b, c, d = train_test_split(X, y, test_size=0.25, random_state=0, stratify=y)
model = DecisionTreeClassifier().fit(a, c)
s = accuracy_score(d, model.predict(b))
u = roc_auc_score(d, model.predict_proba(b)[:, 1])

s = cross_val_score(GaussianNB(), X, y, cv=3, scoring="roc_auc")
m = s.mean()
p = cross_val_predict(GaussianNB(), X, y, cv=3, method="predict_proba")
r = cross_validate(GaussianNB(), X, y, cv=3)

oof = np.zeros(len(X))
pred = np.zeros(len(X_test))
for fold, (i, j) in enumerate(StratifiedKFold(n_splits=3, shuffle=True, random_state=0).split(X, y)):
    model = DecisionTreeClassifier(max_depth=3).fit(X.iloc[i], y.iloc[i])
    oof[j] = model.predict_proba(X.iloc[j])[:, 1]
    pred += model.predict_proba(X_test)[:, 1] / 3

search = GridSearchCV(DecisionTreeClassifier(), {"max_depth": [2, 3]}, cv=3).fit(X, y)
a = search.best_params_
b = search.best_score_
c = search.best_estimator_
p = search.predict_proba(X_test)[:, 1]

search = RandomizedSearchCV(DecisionTreeClassifier(), {"max_depth": [2, 3, 4]}, n_iter=2, cv=3, random_state=0)
search.fit(X, y)
p = search.predict(X_test)

pre = ColumnTransformer([("num", make_pipeline(SimpleImputer(), StandardScaler()), numeric),
    ("cat", OneHotEncoder(handle_unknown="ignore"), ["town"])])
Z = pre.fit_transform(train)
W = pre.transform(test)

pipe = Pipeline([("pre", make_column_transformer((StandardScaler(), numeric), remainder="drop")),
    ("imp", SimpleImputer()), ("clf", LogisticRegression())])
pipe.fit(train, y)
p = pipe.predict_proba(test)[:, 1]
s = pipe.named_steps["clf"]

pipe = make_pipeline(StandardScaler(), PCA(n_components=2), KNeighborsClassifier(3)).fit(X, y)
p = pipe.predict_proba(X_test)[:, 1]

pre = make_union(StandardScaler(), MinMaxScaler())
Z = pre.fit_transform(X)
W = FeatureUnion([("a", PCA(2)), ("b", SelectKBest(f_classif, k=1))]).fit_transform(X, y)

vote = VotingClassifier([("a", GaussianNB()), ("b", LogisticRegression())], voting="soft").fit(X, y)
p = vote.predict_proba(X_test)[:, 1]

stack = StackingClassifier([("a", GaussianNB()), ("b", DecisionTreeClassifier())],
    final_estimator=LogisticRegression(), cv=2).fit(X, y)
p = stack.predict_proba(X_test)[:, 1]

model = CalibratedClassifierCV(GaussianNB(), cv=2).fit(X, y)
p = model.predict_proba(X_test)[:, 1]
q = OneVsRestClassifier(LinearSVC()).fit(X, y).predict(X_test)

model = BaggingClassifier(DecisionTreeClassifier(), n_estimators=3).fit(X, y)
p = model.predict_proba(X_test)[:, 1]
m = AdaBoostClassifier(n_estimators=3).fit(X, y).predict(X_test)

model = HistGradientBoostingClassifier(max_iter=5).fit(train[numeric], y)
p = model.predict_proba(test[numeric])[:, 1]
q = GradientBoostingClassifier(n_estimators=3, subsample=0.5).fit(X, y).predict(X_test)

model = SVC(probability=True).fit(X[:100], y[:100])
p = model.predict_proba(X_test)[:, 1]
q = LinearSVC().fit(X, y).decision_function(X_test)

model = MLPClassifier((4,), max_iter=3).fit(X, y)
p = model.predict_proba(X_test)[:, 1]
q = SGDClassifier(loss="log_loss").fit(X, y).predict_proba(X_test)

enc = LabelEncoder()
a = enc.fit_transform(train["risk"])
b = enc.classes_
c = enc.inverse_transform(a)
d = LabelBinarizer().fit_transform(train["risk"])

Z = OrdinalEncoder().fit_transform(train[["town"]])
W = KBinsDiscretizer(3, encode="ordinal").fit_transform(X)
V = PolynomialFeatures(2, include_bias=False).fit_transform(X)
U = QuantileTransformer(n_quantiles=10).fit_transform(X)

Z = KNNImputer().fit_transform(train[numeric])
W = SimpleImputer(strategy="most_frequent").fit_transform(train[["town", "note"]])
V = RobustScaler().fit_transform(X)
U = PowerTransformer().fit_transform(X)
T = Normalizer().fit_transform(X)

Z = OneHotEncoder(sparse_output=False, handle_unknown="ignore").fit(train[["town"]]).transform(test[["town"]])
W = FunctionTransformer(np.log1p).fit_transform(X.clip(0))
V = SplineTransformer(n_knots=4).fit_transform(X)

model = DummyClassifier(strategy="prior").fit(X, y)
p = model.predict_proba(X_test)[:, 1]
q = LinearDiscriminantAnalysis().fit(X, y).predict_proba(X_test)
r = RidgeClassifier().fit(X, y).predict(X_test)
s = BernoulliNB().fit(X, y).predict(X_test)

model = TransformedTargetRegressor(LinearRegression(), func=np.log1p, inverse_func=np.expm1).fit(X, X["p0"])
p = model.predict(X_test)
q = Ridge().fit(X, y).predict(X_test).clip(0, 1)
r = RandomForestRegressor(3).fit(X, y).predict(X_test)

model = clone(LogisticRegression()).set_params(C=0.5).fit(X, y)
a = model.get_params()
i = permutation_importance(model, X, y, n_repeats=1)
c = confusion_matrix(y, model.predict(X))
l = log_loss(y, model.predict_proba(X))

class Ratio(BaseEstimator, TransformerMixin):
    def fit(self, X, y=None):
        return self
    def transform(self, X):
        X = X.copy()
        X["ratio"] = X["income"] / (X["p0"] + 1)
        return X
p = make_pipeline(Ratio(), SimpleImputer(), DecisionTreeClassifier()).fit(X, y).predict_proba(X_test)[:, 1]

for i, j in GroupKFold(3).split(X, y, groups=train["town"]):
    s = GaussianNB().fit(X.values[i], y.values[i]).score(X.values[j], y.values[j])

models = {"nb": GaussianNB(), "tree": DecisionTreeClassifier(max_depth=2)}
p = np.mean([m.fit(X, y).predict_proba(X_test)[:, 1] for m in models.values()], axis=0)

scaler = StandardScaler().fit(X)
Z = pd.DataFrame(scaler.transform(X), columns=X.columns, index=X.index)
W = pd.DataFrame(scaler.transform(X_test), columns=numeric)
m = LogisticRegression().fit(Z, y).predict(W)

nn = NearestNeighbors(n_neighbors=3).fit(X)
d, i = nn.kneighbors(X_test)
Z = TargetEncoder().fit_transform(train[["town"]], y)
h = HashingVectorizer(n_features=16).transform(train["note"].fillna(""))
""",
}
# Here more is believed than can be known: what a vocabulary holds, what a condition on each column comes to.
GUESSES = """
for c in train.columns:
    if train[c].dtype == object or str(train[c].dtype) in ("string", "str"):
        train[c] = train[c].fillna("none").astype("category").cat.codes

vec = TfidfVectorizer(max_features=20)
Z = vec.fit_transform(train["note"].fillna(""))
W = vec.transform(test["note"].fillna(""))
p = LogisticRegression().fit(Z, y).predict_proba(W)[:, 1]

Z = CountVectorizer(ngram_range=(1, 2)).fit_transform(train["note"].fillna(""))
a = Z.shape[0]
b = TruncatedSVD(n_components=3).fit_transform(Z)
c = MultinomialNB().fit(Z, y)
d = Z.toarray()

pre = ColumnTransformer([("text", TfidfVectorizer(), "note"), ("rest", "passthrough", numeric)])
Z = pre.fit_transform(train.fillna({"note": "", "age": 0}))

Z = SelectFromModel(DecisionTreeClassifier()).fit(X, y).transform(X)
W = RFE(LogisticRegression(), n_features_to_select=2).fit_transform(X, y)
V = VarianceThreshold().fit_transform(X)
U = SelectPercentile(percentile=50).fit_transform(X, y)

pre = ColumnTransformer([("n", StandardScaler(), make_column_selector(dtype_include=np.number))], remainder="drop")
Z = pre.fit_transform(train.drop(columns="risk"))

f = lambda v, w=1: v + w
a = f(1)
b = list(map(f, [1, 2]))
c = sorted(["b", "a"], key=lambda s: s)
d = list(filter(None, [0, 1]))
"""
FAILS = {
    "names": """
print(models)

def f():
    if len(train) == 0:
        a = 1
    return a
f()

train["not_there"]

train[["age", "not_there"]]

train.drop(columns=["not_there"])

train.drop(["age"])

train.drop("age")

train.pop("not_there")

train.set_index("not_there")

train.nothing

y.nothing()

np.nothing

X.values.fillna(0)

import xgboost

import lightgbm as lgb

from sklearn.ensemble import LogisticRegression as L

from sklearn.model_selectio import KFold as K

{"a": 1}["b"]

[1, 2][5]

(1, 2)[2]

pd.read_csv("train.csv")

pd.read_csv(os.path.join(os.environ["DATA_DIR"], "data.csv"))

open("missing.txt")

os.environ["NO_SUCH_VARIABLE"]

os.path.join(os.environ.get("NO_SUCH_VARIABLE"), "train.csv")

pathlib.Path(os.environ.get("NO_SUCH_VARIABLE"))

pd.read_csv(os.environ["DATA_DIR"] + "/train.csv", usecols=["nope"])

pd.read_csv(os.environ["DATA_DIR"] + "/train.csv", index_col="nope")

pd.read_csv(os.environ["DATA_DIR"] + "/train.csv", parse_dates=["nope"])

pd.read_csv(os.environ["DATA_DIR"] + "/train.csv", encoding="utf-16")

train.assign(z=train["nope"])

train.loc[:, "nope"]

pd.get_dummies(train, columns=["nope"])
""",
    "types": """
1 / 0

"a" + 1

len(5)

int("x")

float("abc")

int(train["age"])

float([1])

max([])

for i in 5:
    pass

a, b = [1, 2, 3]

a, b = 5

None.fit(X, y)

RandomForestClassifier(n_trees=10)

LogisticRegression(itertions=3)

if train["age"] > 3:
    pass

train["town"].mean()

train["town"] / 2

train["income"] + train["town"]

np.log1p(train["town"])

train["town"].astype(float)

train["age"].astype(int)

train["age"].str.lower()

train["town"].dt.month

train["age"].cat.codes

train["town"].cat.codes

pd.to_numeric(train["town"])

np.array(train["town"], dtype=float)

X.values[:, 9]

X.values["age"]

y.values[:, 1]

y.values[5000]

math.log(train["income"])

raise RuntimeError("no")

assert len(train) == 5

sys.exit(1)

exit()

np.linalg.inv(np.zeros((2, 2)))

train.iloc[:, 40]

train["z"] = np.zeros(3)

train["z"] = [1, 2]

train["z"] = X.values

pd.DataFrame({"a": [1, 2], "b": [1, 2, 3]})

pd.DataFrame({"a": 1, "b": 2})

pd.DataFrame(np.zeros((3, 2)), columns=["a"])

pd.DataFrame({"a": X.values, "b": 1})

np.zeros(3) + np.zeros(4)

def f(a, b):
    return a
f(1)

def f(a):
    return a
f(1, 2)

def f(a):
    return a
f(c=1)

class A:
    pass
A().grow()

class A:
    def __init__(self):
        self.a = 1
A().b

"abc".nothing()

train(3)

[1, 2].remove(9)

np.hstack([X.values, X_test.values])

np.vstack([X.values, np.zeros((3, 9))])

np.concatenate([X.values, y.values])

np.mean(train["town"])

train["town"].clip(0, 1)

train.to_csv("no/such/folder/out.csv")
""",
    "models": """
LogisticRegression().fit(train[numeric], y)

LogisticRegression().fit(train[["town"]], y)

StandardScaler().fit(train[["town"]])

DecisionTreeClassifier().fit(train.drop(columns="risk"), y)

LogisticRegression().fit(X, y[:10])

LogisticRegression().fit(X_test, y)

LogisticRegression().fit(X["age"], y)

LogisticRegression().predict(X_test)

model = LogisticRegression().fit(X, y)
model.predict(X_test[["age", "income"]])

LogisticRegression().fit(X, y).predict_proba(X_test)[:, 2]

LinearSVC().fit(X, y).predict_proba(X_test)

SVC().fit(X[:99], y[:99]).predict_proba(X_test)

RidgeClassifier().fit(X, y).predict_proba(X_test)

MultinomialNB().fit(StandardScaler().fit_transform(X), y)

StandardScaler().transform(X)

OneHotEncoder(sparse=False)

ColumnTransformer([("n", StandardScaler(), ["nope"])]).fit(train)

cross_val_score(LogisticRegression(), train[numeric], y, cv=3, error_score="raise")

make_pipeline(StandardScaler(), LogisticRegression()).fit(train[["town", "age"]], y)

GridSearchCV(LogisticRegression(), {"depth": [1]}).fit(X, y)

train_test_split(X, y[:10])

roc_auc_score(y, np.zeros(3))

accuracy_score(y, y[:10])

RandomForestClassifier(max_features="auto").fit(X, y)

LogisticRegression(penalty="l1", solver="lbfgs").fit(X, y)

KMeans(3)

LabelEncoder().fit_transform(train[["town", "note"]])

PCA(n_components=50).fit(X)

TfidfVectorizer().fit_transform(train["note"])

RandomForestClassifier().feature_importances_

RandomForestClassifier().fit(X)

LinearRegression().fit(X, train["risk"])

OrdinalEncoder().fit_transform(train["town"])

SimpleImputer(strategy="mean").fit(train[["town"]])

KFold(n_splits=1)
""",
}
SILENT = """
LogisticRegression().fit(X, train["income"])

train.loc[train["income"] > 1e9].iloc[0]

{v: 1 for v in train["town"]}["Z"]

pd.to_datetime(train["town"])

OneHotEncoder().fit(train[["note"]].fillna("")).transform(test[["note"]].fillna("none at all"))
"""
SUBMITS = """
pd.DataFrame({"row_id": test["row_id"], "risk": 0.5}).to_csv(os.environ["SUBMISSION_PATH"], index=False)

test[["row_id"]].assign(risk=0.1).to_csv("submission.csv", index=False)

sub = pd.read_csv(os.environ["DATA_DIR"] + "/sample_submission.csv")
sub["risk"] = np.linspace(0, 1, len(sub))
sub.to_csv(os.environ["SUBMISSION_PATH"], index=False)

sub = pd.DataFrame()
sub["row_id"] = test["row_id"]
sub["risk"] = 0.3
sub.to_csv("submission.csv", index=False)

out = test[["row_id"]].copy()
out.loc[:, "risk"] = 1.0
out.to_csv(pathlib.Path("submission.csv"), index=False)

with open(os.environ["SUBMISSION_PATH"], "w", newline="") as f:
    w = csv.writer(f)
    w.writerow(["row_id", "risk"])
    for i, p in zip(test["row_id"], np.zeros(len(test))):
        w.writerow([i, p])

with open(os.environ["SUBMISSION_PATH"], "w", newline="") as f:
    w = csv.writer(f)
    w.writerow(["row_id", "risk"])
    w.writerows(zip(test["row_id"], np.zeros(len(test))))

pd.DataFrame({"row_id": test["row_id"], "risk": 0.5}).to_csv(os.environ["SUBMISSION_PATH"])

pd.DataFrame({"id": test["row_id"], "risk": 0.5}).to_csv(os.environ["SUBMISSION_PATH"], index=False)

pd.DataFrame({"row_id": train["row_id"], "risk": 0.5}).to_csv(os.environ["SUBMISSION_PATH"], index=False)

pd.DataFrame({"row_id": 1, "risk": np.zeros(len(test))}).to_csv(os.environ["SUBMISSION_PATH"], index=False)

pd.DataFrame({"row_id": test["row_id"], "risk": "yes"}).to_csv(os.environ["SUBMISSION_PATH"], index=False)

pd.DataFrame({"row_id": test["row_id"], "risk": test["age"]}).to_csv(os.environ["SUBMISSION_PATH"], index=False)

pd.DataFrame({"row_id": test["row_id"][:5], "risk": np.zeros(5)}).to_csv(os.environ["SUBMISSION_PATH"], index=False)

pd.DataFrame({"risk": np.zeros(len(test))}).to_csv(os.environ["SUBMISSION_PATH"], index=False)

pd.DataFrame({"row_id": test["row_id"], "risk": 0.5}).to_csv(os.environ["SUBMISSION_PATH"], index=False, header=False)

pd.DataFrame({"row_id": test["row_id"], "risk": 0.5}).to_csv("answers.csv", index=False)

pred = LogisticRegression().fit(X, y).predict_proba(X_test)[:, 1]
np.savetxt("pred.txt", pred)
"""


def programs(text: str) -> list[str]:
    return [program for program in text.strip().split("\n\n") if program]


def _frame(rows: int, seed: int, first: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    words = np.array(
        ["here", "glad", "good", "loan", "bank", "paid", "late", "money", "house", "which", "were", "over"]
    )
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.sort(rng.integers(0, 400, rows)), unit="D")
    frame = pd.DataFrame(
        {
            "row_id": np.arange(first, first + rows),
            "age": rng.integers(18, 91, rows).astype(float),
            "income": np.round(rng.exponential(900.0, rows) - 3.5, 2),
            "town": rng.choice(list("ABCDEFGHI"), rows),
            "note": [" ".join(rng.choice(words, 8)) for _ in range(rows)],
            "day": days.strftime("%Y-%m-%d"),
        }
    )
    frame = frame.assign(**{f"p{i}": rng.integers(0, 9, rows) for i in range(3)})
    frame.loc[rng.choice(rows, rows // 50, replace=False), "age"] = np.nan
    frame.loc[rng.choice(rows, rows // 100, replace=False), "note"] = None
    return frame


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    write_data(folder)
    return folder


def write_data(folder: Path) -> None:
    train, test = _frame(1000, 0, 0), _frame(400, 1, 1000)
    train["risk"] = np.where(train["income"].rank(pct=True) + train["p0"] / 9 > 1.2, "yes", "no")
    train.to_csv(folder / "train.csv", index=False)
    test.to_csv(folder / "test.csv", index=False)
    test[["row_id"]].assign(risk=0.3).to_csv(folder / "sample_submission.csv", index=False)


@pytest.fixture
def place(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("DATA_DIR", str(data))
    monkeypatch.setenv("SUBMISSION_PATH", str(tmp_path / "submission.csv"))
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield tmp_path


def execute(program: str) -> tuple[str | None, dict[str, Any]]:
    """Class of the exception that a program raises, ``None`` where it works, and what its names stand for."""
    names: dict[str, Any] = {"__name__": "__main__"}
    try:
        with contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
            exec(compile(HEAD + program, "solution.py", "exec"), names)
    except (Exception, SystemExit) as error:
        kind = exception_class(traceback.format_exception_only(error)[-1])
        return kind or type(error).__name__, names
    return None, names


def facts(program: str) -> dict[str, float]:
    found = dict(zip(REHEARSAL_NAMES, rehearse(HEAD + program, TASK).tolist(), strict=True))
    return {name: value for name, value in found.items() if value}


def foreseen(program: str) -> str | None:
    found = facts(program)
    return next((name.removeprefix("raises_") for name in found if name.startswith("raises_")), None)


def believed(program: str) -> dict[str, Any]:
    """What a program's names seem to stand for."""
    scope = Scope()
    body = [statement for _, statements in statements_of(HEAD + program) for statement in statements]
    with contextlib.suppress(Fault, GiveUp):
        Interpreter(read_inventory(TASK)).run(body, scope)
    return scope.values


def _sizes(found: Any) -> tuple[float, ...]:
    """Rows and columns, where they are no guess."""
    if isinstance(found, Table):
        wide = any(column.width > 1 for column in found.columns.values()) or not found.exact
        width = float("nan") if wide else found.width
    else:
        width = found.width if isinstance(found, Matrix) else 1.0
    guessed = any(origin.endswith("?") for origin, _ in found.rows)
    return (float("nan") if guessed else count_of(found.rows), width)


def _kind(values: Any) -> str:
    dtype = getattr(values, "dtype", None)
    if isinstance(dtype, pd.CategoricalDtype):
        return "category"
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return "time"
    return "number" if pd.api.types.is_numeric_dtype(dtype) else "text"


def _column_agrees(column: Column, real: Any, where: str) -> list[str]:
    wrong = []
    kind = "number" if column.kind == "bool" else column.kind
    if kind not in ("any", _kind(real)):
        wrong.append(f"{where}: {column.kind} is {_kind(real)}")
    if not column.missing and column.kind != "any" and pd.isna(np.asarray(real)).any():
        wrong.append(f"{where}: missing values")
    return wrong


def disagreements(found: Any, real: Any, where: str) -> list[str]:
    """What is believed of a value and is wrong."""
    if isinstance(found, Const):
        same = found.value is real or found.value == real or (found.value != found.value and real != real)
        return [] if same else [f"{where}: {found.value!r} is {real!r}"]
    if isinstance(found, Mapping):
        return [] if set(found.items) == set(real) else [f"{where}: {list(found.items)} are {list(real)}"]
    if isinstance(found, Model):
        alike = isinstance(real, BaseEstimator) or hasattr(real, "split")
        known = found.name in (type(real).__name__, "Union")
        return [] if alike and known else [f"{where}: {found.name} is {type(real).__name__}"]
    if isinstance(found, Sequence):
        if not hasattr(real, "__len__"):
            return []
        wrong = [] if not found.known or len(real) == found.length else [f"{where}: {found.length} is {len(real)} long"]
        if found.known and not wrong and isinstance(real, (list, tuple)):
            for i, (item, one) in enumerate(zip(found.items, real, strict=True)):
                wrong += disagreements(item, one, f"{where}[{i}]")
        return wrong
    if isinstance(found, (Table, Vector, Matrix)):
        shape = real.shape if hasattr(real, "shape") else (len(real),)
        wrong = [
            f"{where}: {size} is {shape}"
            for size, truth in zip(_sizes(found), (*shape, 1), strict=False)
            if size == size and size != truth
        ]
        if len(shape) != (1 if isinstance(found, Vector) else 2):
            wrong.append(f"{where}: {type(found).__name__} is {shape}")
        elif isinstance(found, Table) and not isinstance(real, pd.DataFrame):
            wrong.append(f"{where}: a table is {type(real).__name__}")
        elif isinstance(found, Table):
            for name, column in found.columns.items():
                if name in real.columns and isinstance(real[name], pd.Series):
                    wrong += _column_agrees(column, real[name], f"{where}.{name}")
                elif found.exact and column.width == 1 and not name.startswith("#"):
                    wrong.append(f"{where}: no column {name}")
        elif not isinstance(real, pd.DataFrame) and not hasattr(real, "tocsr"):
            wrong += _column_agrees(found.column, real, where)
        if isinstance(found, Vector) and found.series != isinstance(real, (pd.Series, pd.Index)):
            wrong.append(f"{where}: series {found.series}, {type(real).__name__}")
        return wrong
    return []


def wrong_beliefs(program: str, names: dict[str, Any]) -> list[str]:
    found = believed(program)
    return [one for name in found if name in names for one in disagreements(found[name], names[name], name)]


def ending(place: Path, data: Path) -> str:
    """How what a program left behind would be graded."""
    if not (place / "submission.csv").exists():
        return "NO_SUBMISSION"
    answers, test = pd.read_csv(place / "submission.csv"), pd.read_csv(data / "test.csv")
    sound = set(answers.columns) == {"row_id", "risk"} and len(answers) == len(test)
    sound = sound and set(answers["row_id"]) == set(test["row_id"]) and answers["risk"].notna().all()
    return "VALID" if sound and pd.api.types.is_numeric_dtype(answers["risk"]) else "INVALID"


def _all(topics: dict[str, str]) -> list[Any]:
    return [
        pytest.param(program, id=f"{topic}-{i}")
        for topic, text in topics.items()
        for i, program in enumerate(programs(text))
    ]


@pytest.mark.parametrize("program", _all(WORKS))
def test_what_works_raises_no_alarm(program: str, place: Path) -> None:
    kind, names = execute(program)
    assert kind is None
    assert foreseen(program) is None
    assert wrong_beliefs(program, names) == []


@pytest.mark.parametrize("program", programs(GUESSES))
def test_what_works_by_guesses_raises_no_alarm(program: str, place: Path) -> None:
    assert execute(program)[0] is None
    assert foreseen(program) is None


@pytest.mark.parametrize("program", _all(FAILS))
def test_what_fails_is_foreseen(program: str, place: Path) -> None:
    kind, _ = execute(program)
    assert kind is not None
    assert foreseen(program) == (kind if f"raises_{kind}" in REHEARSAL_NAMES else "other")


@pytest.mark.parametrize("program", programs(SILENT))
def test_what_depends_on_values_is_not_foreseen(program: str, place: Path) -> None:
    assert execute(program)[0] is not None
    assert foreseen(program) is None


@pytest.mark.parametrize("program", programs(SUBMITS))
def test_answers_are_judged(program: str, place: Path, data: Path) -> None:
    assert execute(program)[0] is None
    assert foreseen(program) is None
    seems = next(name.removeprefix("seems_") for name in facts(program) if name.startswith("seems_"))
    assert seems == ending(place, data)
