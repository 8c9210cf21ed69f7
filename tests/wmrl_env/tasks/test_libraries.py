from importlib.metadata import PackageNotFoundError, version

from wmrl_env.tasks import libraries


def test_versions_are_those_installed(monkeypatch):
    libraries.installed.cache_clear()
    found = libraries.installed()
    assert found["pandas"] == version("pandas") and next(iter(found)) == "Python"

    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(libraries, "version", missing)
    libraries.installed.cache_clear()
    assert libraries.installed()["numpy"] == "none"
    libraries.installed.cache_clear()
