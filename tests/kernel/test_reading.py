"""The page that lists what must be read says how much it is."""

from tests.kernel.reading import ORDER, ROOT, counted, files, stated

NEAR = 0.05


def test_the_page_states_the_lines_of_the_source():
    numbers, told = counted(), stated()
    assert told.keys() == numbers.keys() == {what for what, *_ in ORDER}
    wrong = {k: (told[k], n) for k, n in numbers.items() if abs(told[k] - n) > NEAR * n}
    assert not wrong, f"run python tests/kernel/reading.py: {wrong}"


def test_every_file_of_the_kernel_is_listed_once():
    found = [file for _, names, _, _ in ORDER for file in files(names)]
    assert len(set(found)) == len(found)
    assert set((ROOT / "skdp" / "kernel").rglob("*.py")) <= set(found)
