from __future__ import annotations

from serai.acp import Choice, Mode, Modes
from serai.acp.options import read_modes, read_options


def test_groups_of_choices_are_made_flat_and_remembered() -> None:
    (option,) = read_options(
        [
            {
                "id": "model",
                "name": "Model",
                "category": "model",
                "type": "select",
                "currentValue": "a",
                "options": [
                    {
                        "group": "g",
                        "name": "Fast",
                        "options": [{"value": "a", "name": "A", "description": "quick"}],
                    },
                    {"value": "b", "name": "B"},
                ],
            }
        ]
    )
    assert (option.id, option.value, option.category, option.type) == ("model", "a", "model", "select")
    assert option.choices == (Choice("a", "A", "quick", "Fast"), Choice("b", "B"))
    assert option.raw["options"][1] == {"value": "b", "name": "B"}


def test_modes_are_read_and_changed() -> None:
    modes = read_modes({"currentModeId": "a", "availableModes": [{"id": "a", "name": "A"}, {"id": "b"}, 7]})
    assert modes == Modes("a", (Mode("a", "A"), Mode("b", "b")))
    assert modes is not None
    assert read_modes({"availableModes": []}) is None
    assert read_modes(None) is None
