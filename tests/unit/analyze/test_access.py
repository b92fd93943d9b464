import gzip
from pathlib import Path

import pytest

from ncu_lab.analyze.access import access_readings
from ncu_lab.analyze.opcodes import access_bytes, opcode
from ncu_lab.model import INSTANCE_COLUMNS, table
from ncu_lab.parse.report import read_report

GOLDEN = Path(__file__).parents[2] / "data" / "golden" / "ladder-full.ncu-rep.gz"
CONFLICT, PADDED, TILE_2D, VECTORIZED, DOUBLE_BUFFERED, WARPTILED, WMMA = 3, 4, 6, 7, 9, 10, 11


@pytest.mark.parametrize(
    ("sass", "name", "width"),
    [
        ("LDG.E R11, desc[UR6][R8.64]", "LDG", 4),  # .64 of the address is no width
        ("@!P0 LDG.E.128.CONSTANT R4, desc[UR6][R2.64]", "LDG", 16),
        ("@P4   STG.E.64 desc[UR6][R2.64], R4", "STG", 8),
        ("LDS.U8 R1, [R2]", "LDS", 1),
        ("@UP1 LDG.E.U16 R1, desc[UR4][R2.64]", "LDG", 2),
        ("LDGSTS.E.BYPASS.LTC128B.128 [R7], desc[UR4][R2.64]", "LDGSTS", 16),  # LTC128B is a prefetch hint
        ("EXIT", "EXIT", 4),
        ("", "", 4),
    ],
)
def test_instructions_tell_their_opcode_and_width(sass, name, width):
    assert opcode(sass) == name
    assert access_bytes(sass) == width


def instances(*rows):
    columns = {name: [None] * len(rows) for name in INSTANCE_COLUMNS}
    for key, position in (("launch", 0), ("metric", 1), ("sass", 2), ("value", 3)):
        columns[key] = [row[position] for row in rows]
    columns["kind"] = ["pc"] * len(rows)
    columns["correlation"] = list(range(len(rows)))
    return table(INSTANCE_COLUMNS, columns)


def test_the_ideal_is_the_mean_of_the_widths_by_executions():
    found = access_readings(
        instances(
            (0, "inst_executed", "LDG.E R1, desc[UR4][R2.64]", 30.0),
            (0, "inst_executed", "LDG.E.128 R4, desc[UR4][R2.64]", 10.0),
            (0, "inst_executed", "FFMA R1, R2, R3, R1", 500.0),
            (1, "inst_executed", "STG.E.64 desc[UR4][R2.64], R4", 5.0),
        )
    )
    assert found[0]["global_load_sectors_ideal"].value == 7.0  # (30 x 4 + 10 x 16) / 40
    assert set(found[0]) == {"global_load_sectors_ideal"}
    assert found[1]["global_store_sectors_ideal"].value == 8.0


def test_instructions_that_never_ran_tell_nothing():
    assert access_readings(instances((0, "inst_executed", "LDG.E R1, desc[UR4][R2.64]", 0.0))) == {0: {}}


def test_shared_conflicts_are_sums_over_sums():
    load, store = "LDS.128 R4, [R2]", "STS [R2], R4"
    found = access_readings(
        instances(
            (0, "memory_l1_wavefronts_shared", load, 60.0),
            (0, "memory_l1_wavefronts_shared_ideal", load, 40.0),
            (0, "memory_l1_wavefronts_shared", store, 320.0),
            (0, "memory_l1_wavefronts_shared_ideal", store, 10.0),
        )
    )[0]
    assert found["shared_load_wavefronts_over_ideal"].value == 1.5
    assert found["shared_store_wavefronts_over_ideal"].value == 32.0


def test_no_instances_no_readings():
    assert access_readings(table(INSTANCE_COLUMNS)) == {}


@pytest.fixture(scope="module")
def golden(tmp_path_factory):
    path = tmp_path_factory.mktemp("golden") / "full.ncu-rep"
    path.write_bytes(gzip.decompress(GOLDEN.read_bytes()))
    return access_readings(read_report(path).instances)


@pytest.mark.parametrize(
    ("launch", "key", "expected"),
    [
        # Summed by opcode from the golden source page.
        (TILE_2D, "global_load_sectors_ideal", 4),
        (TILE_2D, "shared_load_wavefronts_over_ideal", 1_310_720 / 786_432),
        (TILE_2D, "shared_store_wavefronts_over_ideal", 1),
        (VECTORIZED, "global_load_sectors_ideal", 16),
        (VECTORIZED, "global_store_sectors_ideal", 16),
        (VECTORIZED, "shared_store_wavefronts_over_ideal", (65_536 + 32_768) / (32_768 + 32_768)),
        (CONFLICT, "shared_store_wavefronts_over_ideal", 4_325_376 / 262_144),
        (PADDED, "shared_store_wavefronts_over_ideal", 1),
        (WARPTILED, "shared_load_wavefronts_over_ideal", 1),
        # 8192 plain loads of 4 sectors and 16 384 copies by cp.async of 16.
        (DOUBLE_BUFFERED, "global_load_sectors_ideal", 12),
        (WMMA, "global_load_sectors_ideal", 4),
        (WMMA, "global_store_sectors_ideal", 8),
    ],
)
def test_golden_accesses(golden, launch, key, expected):
    assert golden[launch][key].value == pytest.approx(expected)
