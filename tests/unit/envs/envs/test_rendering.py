"""Drawing and displaying frames."""

import io
import sys

import numpy as np
import pytest

import envwire.envs as gym
from envwire.envs.envs.drawing import BLACK, WHITE, Canvas, rotate
from envwire.envs.wrappers import HumanRendering, RenderCollection
from envwire.envs.wrappers.human import Pacer, TerminalDisplay, WindowDisplay, default_display
from tests.unit.envs.toys import Walk

RED = (255, 0, 0)


def marked(canvas, color=RED):
    """The (x, y) of the pixels of a colour, y upwards."""
    rows, columns = np.nonzero((canvas.frame() == color).all(axis=-1))
    height = canvas.frame().shape[0]
    return {(int(x), height - 1 - int(y)) for x, y in zip(columns, rows, strict=True)}


@pytest.fixture
def canvas():
    return Canvas(8, 6)


def test_a_canvas_begins_in_one_colour_and_gives_fresh_frames(canvas):
    frame = canvas.frame()
    assert frame.shape == (6, 8, 3)
    assert frame.dtype == np.uint8
    assert (frame == WHITE).all()
    frame[:] = 0
    assert (canvas.frame() == WHITE).all()
    assert canvas.frame().flags.c_contiguous


@pytest.mark.parametrize("turn", [1, -1])
def test_a_polygon_is_filled_whichever_way_it_turns(canvas, turn):
    canvas.polygon([(1, 1), (4, 1), (1, 4)][::turn], RED)
    assert marked(canvas) == {(x, y) for x in range(1, 5) for y in range(1, 5) if x + y <= 5}


def test_shapes_are_cut_at_the_edge(canvas):
    canvas.rectangle((-5, -5), (1, 0), RED)
    assert marked(canvas) == {(0, 0), (1, 0)}
    canvas.disc((7, 5), 1, RED)
    canvas.polygon([(-9, -9), (-8, -9), (-9, -8)], RED)
    canvas.polyline([(-3, 3), (20, 3)], BLACK)
    assert marked(canvas) == {(0, 0), (1, 0), (7, 5), (6, 5), (7, 4)}
    assert marked(canvas, BLACK) == {(x, 3) for x in range(8)}


def test_a_polyline_has_no_gaps(canvas):
    canvas.polyline([(0, 0), (7, 5), (7, 0)], RED)
    assert {(0, 0), (7, 5), (7, 0), (7, 2)} <= marked(canvas)
    assert {x for x, _ in marked(canvas)} == set(range(8))


def test_points_are_rotated_and_moved():
    assert np.allclose(rotate([(1, 0), (0, 2)], np.pi / 2, (3, 4)), [(3, 5), (1, 4)])


def test_the_cart_is_drawn_where_it_is():
    env = gym.make("CartPole-v1", render_mode="rgb_array").unwrapped
    env.reset(seed=1)
    centers = []
    for x in (-1.2, 0.0, 1.2):
        env.state = np.array([x, 0.0, 0.2, 0.0])
        columns = np.nonzero((env.render()[295:300] == BLACK).all(axis=(0, 2)))[0]
        centers.append(columns.mean())
    assert np.allclose(centers, [150, 300, 450], atol=1)


@pytest.mark.parametrize(("theta", "pole"), [(0.0, "|"), (0.2, "/"), (-0.2, "\\")])
def test_the_pole_leans_in_the_text(theta, pole):
    env = gym.make("CartPole-v1", render_mode="ansi").unwrapped
    env.reset(seed=1)
    env.state = np.array([2.4, 0.0, theta, 0.0])
    above, track, numbers = env.render().splitlines()
    assert above == " " * 60 + pole
    assert track == "-" * 60 + "#"
    assert "+2.400" in numbers


def test_a_terminal_shows_half_blocks_in_place():
    stream = io.StringIO()
    display = TerminalDisplay(stream, columns=3)
    frame = np.zeros((4, 6, 3), np.uint8)
    frame[:2] = RED
    display.show(frame)
    line = "\x1b[38;2;255;0;0;48;2;0;0;0m\N{UPPER HALF BLOCK}" * 3 + "\x1b[0m\n"
    assert stream.getvalue() == line
    display.show(frame)
    assert stream.getvalue() == line + "\x1b[1A" + line
    display.close()
    display.show(frame)
    assert stream.getvalue().endswith(line + line)


def test_a_window_shows_where_there_is_one(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    display = default_display()
    assert isinstance(display, WindowDisplay)
    display.show(np.full((4, 6, 3), 9, np.uint8))
    assert display._window.get_at((5, 3))[:3] == (9, 9, 9)
    display.close()
    display.close()


def test_the_terminal_shows_where_there_is_no_window(monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"):
        monkeypatch.delenv(name, raising=False)
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    assert isinstance(default_display(terminal, "linux"), TerminalDisplay)
    monkeypatch.setitem(sys.modules, "pygame", None)  # cannot be imported
    assert isinstance(default_display(terminal, "darwin"), TerminalDisplay)


def test_a_file_or_a_pipe_gets_no_escape_codes(monkeypatch, capsys):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"):
        monkeypatch.delenv(name, raising=False)
    with pytest.warns(UserWarning, match="nowhere to show"):
        display = default_display(platform="linux")
    display.show(np.full((4, 6, 3), 9, np.uint8))
    display.close()
    assert capsys.readouterr().out == ""


def test_a_pacer_waits_for_its_turn():
    now, slept = [10.0], []
    pacer = Pacer(4, lambda: now[0], slept.append)
    pacer.wait()
    pacer.wait()
    now[0] = 20.0
    pacer.wait()
    assert slept == [0.25]


@pytest.mark.parametrize("collect", [False, True])
def test_human_rendering_shows_the_last_frame(collect):
    stream = io.StringIO()
    env = Walk("rgb_array")
    env = RenderCollection(env) if collect else env
    human = HumanRendering(env)
    human.display = TerminalDisplay(stream, columns=1)
    human.reset(seed=1)
    human.step(np.ones(1))
    assert stream.getvalue().count("38;2;0;0;0") == 1
    assert stream.getvalue().count("38;2;1;1;1") == 1
    assert human.metadata["render_modes"][-1] == "human"
    assert "human" not in env.metadata["render_modes"]
    human.close()
    assert env.unwrapped.closed == 1
    env.unwrapped.metadata = {"render_modes": ["rgb_array"]}
    with pytest.raises(ValueError, match="render_fps"):
        HumanRendering(env.unwrapped)


def test_rendering_a_collection_twice_is_refused():
    with pytest.raises(ValueError, match="single frames"):
        RenderCollection(RenderCollection(Walk("ansi")))
