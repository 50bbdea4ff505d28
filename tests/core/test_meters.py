from pathlib import Path

import pytest

from rig.core.meters import Costs
from rig.plugins.energy.meter import EnergyMeter


def _package(folder: Path, microjoules: int, maximum: int = 1_000_000) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "energy_uj").write_text(f"{microjoules}\n")
    (folder / "max_energy_range_uj").write_text(f"{maximum}\n")
    return folder


def test_energy_is_the_sum_over_packages_and_counters_may_run_over(tmp_path: Path) -> None:
    first, second = _package(tmp_path / "intel-rapl:0", 900_000), _package(tmp_path / "intel-rapl:1", 5)
    _package(tmp_path / "intel-rapl:0:0", 77)  # a part of the first package
    meters = EnergyMeter(tmp_path)
    assert meters.read().energy_j == 0
    _package(first, 100_000)
    _package(second, 500_005)
    assert meters.read().energy_j == pytest.approx(0.2 + 0.5)
    (second / "energy_uj").unlink()
    assert meters.read().energy_j == pytest.approx(0.7)


def test_what_the_machine_does_not_tell_is_not_made_up(tmp_path: Path) -> None:
    costs = EnergyMeter(tmp_path).read()
    assert (costs.energy_j, costs.peak_memory, costs.peak_device_memory) == (None, None, None)


def test_costs_of_two_starts_add_up_and_peaks_do_not() -> None:
    before = Costs(1.0, 100, None, 5.0)
    assert before + Costs(0.5, 70, 9, None) == Costs(1.5, 100, 9, 5.0)
    assert Costs() + Costs() == Costs()
