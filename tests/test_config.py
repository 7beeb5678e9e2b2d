import threading

import pytest

import skdp


def test_context_restores():
    assert skdp.get_config() == {"invalid_rows": "error", "debug": False}
    with skdp.config_context(invalid_rows="ignore", debug=True):
        assert skdp.get_config() == {"invalid_rows": "ignore", "debug": True}
        seen = []
        thread = threading.Thread(target=lambda: seen.append(skdp.get_config()["invalid_rows"]))
        thread.start()
        thread.join()
        assert seen == ["error"]
    assert skdp.get_config() == {"invalid_rows": "error", "debug": False}


def test_wrong_values_are_refused_and_change_nothing():
    with pytest.raises(ValueError, match="invalid_rows must be one of"):
        skdp.set_config(invalid_rows="drop", debug=True)
    assert skdp.get_config() == {"invalid_rows": "error", "debug": False}
