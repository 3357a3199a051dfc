"""The report in a real browser: it asks for nothing, fits the screen, can be read by everybody, scripts or not."""

import json

import pytest
from click.testing import CliRunner
from sklearn.datasets import load_digits, load_iris

from browser import Browser, find_browser
from tenfold.cli.commands import tenfold
from tenfold.datasets import make_table, write_csv
from tenfold.report import page as render

pytestmark = pytest.mark.skipif(
    find_browser() is None, reason="no browser: install Debian's chromium to run the tests of the report"
)

WIDE, NARROW, PAPER = 1280, 400, 720
NEW_KEYS = ("explain", "contributions", "groups")
NEW_PICTURES = ("precision_recall", "scores")


def fit(folder, table, *args):
    data = write_csv(table, folder / "data.csv")
    command = ["fit", str(data), "--out", str(folder / "run"), "--quiet", *args]
    result = CliRunner().invoke(tenfold, command, catch_exceptions=False)
    assert result.exit_code == 0, result.output[-2000:]
    return folder / "run" / "report.html"


def make_regression(folder):
    return fit(
        folder, make_table(150, task="regression", random_state=1), "--target", "price", "--models", "ridge,lasso"
    )


def make_binary(folder):
    models = "logistic,neighbours-classifier"
    return fit(folder, make_table(200, random_state=1), "--target", "churned", "--models", models)


def make_multiclass(folder):
    digits = load_digits()
    table = {f"pixel {j}": digits.data[:300, j].tolist() for j in range(10, 40)} | {
        "digit": [f"d{label}" for label in digits.target[:300]]
    }
    return fit(folder, table, "--target", "digit", "--models", "lda,neighbours-classifier")


def make_structure(folder):
    iris = load_iris()
    return fit(folder, {name: iris.data[:, j].tolist() for j, name in enumerate(iris.feature_names)})


def make_older(folder):
    """The page of a run whose record was written before there were explanations."""
    record = json.loads((make_binary(folder).parent / "run.json").read_text(encoding="utf-8"))
    for name in NEW_KEYS:
        record.pop(name, None)
    for name in NEW_PICTURES:
        record["pictures"].pop(name)
    for row in (record["weights"] or {"rows": []})["rows"]:
        row.pop("change")
    path = folder / "older.html"
    path.write_text(render(record), encoding="utf-8")
    return path


GENERATED = {
    "regression": make_regression,
    "binary": make_binary,
    "multiclass": make_multiclass,
    "structure": make_structure,
    "older": make_older,
}


@pytest.fixture(scope="module", params=list(GENERATED))
def path(request, tmp_path_factory):
    return GENERATED[request.param](tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def browser():
    running = Browser()
    yield running
    running.close()


@pytest.fixture
def open_page(browser, path):
    pages = []

    def open_one(**options):
        pages.append(browser.open(path, **options))
        return pages[-1]

    yield open_one
    for one in pages:
        one.close()


OPEN_ALL = "document.querySelectorAll('details').forEach(one => { one.open = true; })"


def test_report_is_small_and_has_no_external_resources(path, open_page):
    assert path.stat().st_size < 1_000_000
    page = open_page()
    assert page.evaluate("document.readyState") == "complete"
    assert page.requests == []
    assert page.complaints == []


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_report_fits_the_screen_width(open_page, width):
    page = open_page(width=width)
    page.evaluate(OPEN_ALL)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # nothing but what scrolls by itself is wider than the screen
    outside = page.evaluate("""[...document.body.querySelectorAll('*')].filter(one =>
        !one.closest('.wide') && !one.closest('svg') && one.getBoundingClientRect().right > innerWidth + 1)
        .map(one => one.outerHTML.slice(0, 80))""")
    assert outside == []


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_text_of_charts_is_large_enough(open_page, width):
    page = open_page(width=width)
    page.evaluate(OPEN_ALL)
    sizes = page.evaluate("""[...document.querySelectorAll('svg text')].map(one =>
        parseFloat(getComputedStyle(one).fontSize) * one.ownerSVGElement.getScreenCTM().a)""")
    assert sizes
    assert min(sizes) >= 9.5


def test_charts_have_alternative_text(open_page):
    page = open_page()
    pictures = page.evaluate("""[...document.querySelectorAll('svg, [role=img]')].map(one =>
        [one.getAttribute('role'), one.getAttribute('aria-label') || ''])""")
    assert pictures
    for role, words in pictures:
        assert role == "img"
        assert len(words) > 15
    assert page.evaluate("document.images.length") == 0


CONTRAST = """(() => {
  const parse = text => {
    const own = text.startsWith('color(srgb');
    const parts = text.match(/[\\d.]+(e-?\\d+)?/g).map(Number);
    const [r, g, b] = own ? parts.map(v => 255 * v) : parts;
    return { r, g, b, a: parts.length > 3 ? parts[3] : 1 };
  };
  const over = (top, below) => ({
    r: top.r * top.a + below.r * (1 - top.a), g: top.g * top.a + below.g * (1 - top.a),
    b: top.b * top.a + below.b * (1 - top.a), a: 1 });
  const light = c => {
    const linear = v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    const [r, g, b] = [c.r, c.g, c.b].map(v => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const backdrop = one => {
    const layers = [];
    for (let at = one; at; at = at.parentElement) layers.push(parse(getComputedStyle(at).backgroundColor));
    return layers.reduceRight((below, top) => over(top, below), { r: 255, g: 255, b: 255, a: 1 });
  };
  const bad = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const one = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || one.closest('script, style, title')) continue;
    if (!one.getClientRects().length) continue;
    const style = getComputedStyle(one);
    const behind = backdrop(one);
    const ink = over(parse(one.closest('svg') ? style.fill : style.color), behind);
    const [a, b] = [light(ink), light(behind)].sort((p, q) => q - p);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < (large ? 3 : 4.5)) bad.push([one.outerHTML.slice(0, 100), ratio]);
  }
  return bad;
})()"""


@pytest.mark.parametrize("dark", [False, True])
def test_contrast_meets_wcag_aa(open_page, dark):
    page = open_page(dark=dark)
    page.evaluate(OPEN_ALL)
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background != "rgb(255, 255, 255)") == dark
    assert page.evaluate(CONTRAST) == []


SERIES = """[...Array(10).keys()].map(k => getComputedStyle(document.documentElement).getPropertyValue('--t' + k))"""


@pytest.mark.parametrize("dark", [False, True])
def test_ten_classes_have_ten_colours(open_page, dark):
    page = open_page(dark=dark)
    colours = page.evaluate(SERIES)
    assert len(set(colours)) == 10
    # legend dots are drawn, each in the colour of its series
    dots = page.evaluate("""[...document.querySelectorAll('.key')].map(one => {
        const dot = getComputedStyle(one, '::before');
        return [dot.content, dot.backgroundColor, parseFloat(dot.width)]; })""")
    for text, colour, width in dots:
        assert text == '""'
        assert colour not in ("rgba(0, 0, 0, 0)", "transparent")
        assert width > 5


TEXT = "document.querySelector('main').innerText"


def test_report_is_complete_without_scripts(open_page):
    with_scripts, without = open_page(), open_page(scripts=False)
    assert without.evaluate(TEXT) == with_scripts.evaluate(TEXT)
    assert without.evaluate("document.querySelectorAll('th button').length") == 0
    assert without.requests == without.complaints == []


def test_leaderboard_is_sorted_by_a_click(open_page):
    page = open_page()
    names = "[...document.querySelectorAll('#models tbody tr')].map(row => row.cells[0].innerText)"
    click = "document.querySelector('#models th button').click()"
    first = page.evaluate(names)
    page.evaluate(click)
    assert page.evaluate(names) == sorted(first)
    page.evaluate(click)
    assert page.evaluate(names) == sorted(first, reverse=True)
    assert page.evaluate("document.querySelector('#models th').getAttribute('aria-sort')") == "descending"
    assert page.complaints == []


def test_report_prints(open_page):
    page = open_page(width=PAPER, dark=True)
    assert len(page.call("Page.printToPDF", printBackground=True)["data"]) > 10_000
    page.call("Emulation.setEmulatedMedia", media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("document.documentElement.scrollWidth") <= PAPER
    assert page.evaluate("getComputedStyle(document.querySelector('.wide')).overflowX") == "visible"
