"""Classes of equal expressions."""

from reactant.precision.improvement import saturation
from reactant.precision.improvement.identities import parsed


def test_classes_have_what_is_equal_and_nothing_else():
    classes, (place, other) = saturation.saturated([parsed("a - a", "a"), parsed("a / a", "a")])
    assert place != other
    values = {form.value for form in classes[place]}, {form.value for form in classes[other]}
    assert 0 in values[0] and 1 not in values[0] and 1 in values[1]
