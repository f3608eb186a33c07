import io

from abduce.cli.progress import progress_bars
from abduce.eval.runs.row import Progress
from rich.console import Console


def test_bars_count_rows_examples_calls_and_failures() -> None:
    console = Console(file=io.StringIO(), record=True, width=140, force_terminal=True)
    with progress_bars(console) as update:
        update(Progress("FHS [x]", 0, 0, 3, 5, 20, 5, 0, 0))
        update(Progress("FHS [x]", 0, 3, 3, 20, 20, 5, 2, 60))
    last = console.export_text().splitlines()[-2:]
    assert "rows" in last[0]
    assert "3/3" in last[0]
    assert "20/20" in last[1]
    for part in ("FHS [x]", "calls/s", "2 failed", "5 resumed"):
        assert part in last[1]
