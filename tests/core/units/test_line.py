"""A line of waiting pods does what an ordered dictionary does, however its pods leave and come back."""

from hypothesis import given
from hypothesis import strategies as st

from treadle.core.kernel.between.kinds import Kind
from treadle.core.kernel.nodes.shapes import Shape
from treadle.core.kernel.tree.members import PodRecord
from treadle.core.model import Constraints, PodSpec
from treadle.core.units.line import Line

SHAPE = Shape(0, (), (), Constraints())
KIND = Kind("ns", (), (), deleting=False)
PODS = [PodRecord(PodSpec(f"uid-{number}", "ns", f"pod-{number}", "treadle"), SHAPE, KIND) for number in range(12)]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["toggle", "toggle", "first"]), st.integers(0, 11)), st.tuples(st.just("serve"), st.just(0))
    ),
    max_size=120,
)


@given(STEPS)
def test_a_line_is_an_ordered_dictionary_of_which_the_first_is_served(steps: list[tuple[str, int]]) -> None:
    line, model = Line(), dict[PodRecord, None]()
    for step, number in steps:
        pod = PODS[number]
        if step == "toggle" and pod in model:
            line.remove(pod)
            del model[pod]
        elif step == "toggle":
            line.append(pod)
            model[pod] = None
        elif step == "first":
            first = [one for one in (pod, *PODS[:3]) if one in model]
            line.let_first(first)
            model = dict.fromkeys([*first, *model])
        elif model:
            first = next(iter(model))
            assert line.popleft() is first
            del model[first]
        assert list(line) == list(model)
        assert len(line) == len(model)
        assert bool(line) is bool(model)
        if model:
            assert line.first is next(iter(model))
            assert line.records[0] is line.first


def test_who_left_and_came_back_stands_at_the_end() -> None:
    line = Line()
    for pod in PODS[:4]:
        line.append(pod)
    line.remove(PODS[1])
    line.append(PODS[1])
    assert [line.popleft().spec.name for _ in range(4)] == ["pod-0", "pod-2", "pod-3", "pod-1"]
    assert not line


def test_a_line_forgets_those_who_left_when_they_are_half_of_it() -> None:
    line = Line()
    for pod in PODS:
        line.append(pod)
    for pod in PODS[3:]:
        line.remove(pod)
    assert len(line) == 3
    assert len(line.records) < 2 * len(line) + 2
