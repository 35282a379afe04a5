#!/usr/bin/env python3
"""Looks at pages of `commcomp report` in a browser.

usage: check_page.py [--screenshots FOLDER] PAGE.html ...

Each page must load nothing, log nothing, fit a phone's width, sort and filter by mouse and by keys,
and show values. Exit 0: all hold; 1: one does not; 77: no browser runs here.
"""

import json
import os
import sys

from chrome import Chrome, Unavailable

WIDTHS = (400, 1000, 1600)
failures = 0


def check(page, holds, what, *details):
    global failures
    if not holds:
        failures += 1
        print(f"FAILED: {page}: {what}", *details)


def place(chrome, selector):
    """The middle of an element, scrolled into view."""
    return chrome.value(f"""(() => {{
        const e = document.querySelector({json.dumps(selector)});
        e.scrollIntoView({{block: 'center', inline: 'center'}});
        const r = e.getBoundingClientRect();
        return [r.x + r.width / 2, r.y + r.height / 2];
    }})()""")


def rows_of(chrome, key):
    """The values of a key in the order of the first table's rows, of those that are shown."""
    return chrome.value(f"""(() => {{
        const table = document.querySelector('table.rows');
        const heads = Array.from(table.tHead.rows[0].cells);
        const at = heads.findIndex(h => h.dataset.key === {json.dumps(key)});
        return Array.from(table.tBodies[0].rows).filter(r => !r.classList.contains('hidden'))
            .map(r => r.cells[at].textContent);
    }})()""")


def data_of(chrome):
    return json.loads(chrome.value(
        "document.querySelector('script.commcomp-result').textContent"))


def check_quiet(chrome, page):
    others = [u for u in chrome.requests if u != "file://" + os.path.abspath(page)]
    check(page, not others, "loads something", others)
    check(page, not chrome.complaints, "complains", chrome.complaints)


def check_width(chrome, page, width):
    wide = chrome.value("document.documentElement.scrollWidth")
    check(page, wide <= width, f"is {wide} px wide on {width}")


def check_contrast(chrome, page, dark):
    """Text differs from its background, by the lightness of both."""
    bright = chrome.value("""(() => {
        const light = c => c.match(/[0-9.]+/g).slice(0, 3).reduce((a, x) => a + +x, 0) / 765;
        const s = getComputedStyle(document.body);
        return [light(s.backgroundColor), light(s.color)];
    })()""")
    check(page, bright[0] < 0.2 < 0.8 < bright[1] if dark else bright[1] < 0.2 < 0.8 < bright[0],
          "dark" if dark else "light", bright)


def sorted_as(values, order):
    """The values of the JSON as a column that is sorted has them: empty cells last."""
    numbers = sorted((v for v in values if v is not None), reverse=order == "descending")
    return numbers + [None] * (len(values) - len(numbers))


def check_sorting(chrome, page, act, how):
    """A head, acted upon three times, sorts upwards, downwards, and not."""
    rows = data_of(chrome)["rows"]
    shown = chrome.value("Array.from(document.querySelector('table.rows').querySelectorAll("
                         "'thead th:not(.extra)'), h => h.dataset.key)")
    key = next((k for k in shown if not any(isinstance(r[k], str) for r in rows) and
                len({r[k] for r in rows}) > 1), None)
    check(page, key is not None, "has no numbers to sort by")
    if key is None:
        return
    head = f"table.rows th[data-key={key}]"
    before = rows_of(chrome, key)
    cells = dict(zip((json.dumps(r[key]) for r in rows), before))
    for order in ("ascending", "descending", "none"):
        act(head + " button")
        check(page, chrome.value(f"document.querySelector('{head}').ariaSort") == order,
              f"{how}: aria-sort is not {order}")
        want = before if order == "none" else [
            cells[json.dumps(v)] for v in sorted_as([r[key] for r in rows], order)]
        check(page, rows_of(chrome, key) == want, f"{how}: {key} is not {order}")


def check_filter(chrome, page):
    x, y = place(chrome, ".tools input")
    key = chrome.value("document.querySelector('table.rows th').dataset.key")
    all_rows = rows_of(chrome, key)
    word = all_rows[-1]
    chrome.click(x, y)
    chrome.type(word)
    shown = rows_of(chrome, key)
    check(page, word in shown and 0 < len(shown) <= len(all_rows), "filter", word, shown)
    count = chrome.value("document.querySelector('.tools output').textContent")
    check(page, count.startswith(f"{len(shown)} of {len(all_rows)} row"), "count", count)
    chrome.type(" no-such-word")
    check(page, rows_of(chrome, key) == [], "rows remain")
    chrome.value("document.querySelector('.tools input').value = ''")
    chrome.type("x")
    chrome.press("Backspace", 8)
    check(page, rows_of(chrome, key) == all_rows, "rows are missing")


def check_columns(chrome, page):
    """The box shows the columns that are hidden at first; keys reach it."""
    if not chrome.value("!!document.querySelector('input.all')"):
        return
    hidden = "getComputedStyle(document.querySelector('th.extra')).display === 'none'"
    check(page, chrome.value(hidden), "all columns are shown at first")
    chrome.value("document.querySelector('input.all').focus()")
    chrome.press(" ", 32, " ")
    check(page, not chrome.value(hidden), "columns stay hidden")
    chrome.press(" ", 32, " ")


def check_values(chrome, page):
    """A mark of the picture, pointed at, shows its value; so does a cell all digits of its own."""
    if not chrome.value("!!document.querySelector('g.value')"):
        check(page, chrome.value("!!document.querySelector('.no-picture')"),
              "has neither values nor a reason")
        return
    chrome.mouse(*place(chrome, "g.value use"))
    said = chrome.value("document.querySelector('figcaption').textContent")
    titles = chrome.value("Array.from(document.querySelectorAll('g.value title'), "
                          "t => t.textContent)")
    check(page, said in titles and ": " in said, "the value is not shown", said)
    chrome.mouse(*place(chrome, "tbody td"))
    title = chrome.value("document.querySelector('tbody td').title")
    check(page, ": " in title, "the cell does not show its digits", title)


def check_ids(chrome, page):
    twice = chrome.value("""(() => {
        const ids = Array.from(document.querySelectorAll('[id]'), e => e.id);
        return ids.filter((id, i) => ids.indexOf(id) !== i);
    })()""")
    check(page, not twice, "ids occur twice", twice)
    check(page, chrome.value("document.querySelectorAll('script').length === 1 + "
                             "document.querySelectorAll('script.commcomp-result').length"),
          "has other scripts")


def by_mouse(chrome):
    return lambda selector: chrome.click(*place(chrome, selector))


def by_keys(chrome):
    """Tab moves to the button from the element before it; Enter presses it."""
    def act(selector):
        chrome.value(f"""(() => {{
            const all = Array.from(document.querySelectorAll('a, button, input, summary, [tabindex]'));
            all[all.indexOf(document.querySelector({json.dumps(selector)})) - 1].focus();
        }})()""")
        chrome.press("Tab", 9)
        check("", chrome.value(f"document.activeElement === "
                               f"document.querySelector({json.dumps(selector)})"),
              f"Tab does not reach {selector}")
        check("", chrome.value("getComputedStyle(document.activeElement).outlineStyle") != "none",
              "the focus cannot be seen")
        chrome.press("Enter", 13, "\r")
    return act


def check_page(chrome, page, screenshots):
    for width in WIDTHS:
        for dark in (False, True):
            chrome.open(page, width=width, dark=dark)
            check_quiet(chrome, page)
            check_width(chrome, page, width)
            check_contrast(chrome, page, dark)
            if screenshots:
                name = os.path.basename(page).removesuffix(".html")
                chrome.screenshot(os.path.join(screenshots, f"{name}-{width}-"
                                                            f"{'dark' if dark else 'light'}.png"))
    chrome.open(page)
    check_ids(chrome, page)
    if chrome.value("!!document.querySelector('table.rows')"):
        check_sorting(chrome, page, by_mouse(chrome), "mouse")
        check_sorting(chrome, page, by_keys(chrome), "keys")
        check_filter(chrome, page)
        check_columns(chrome, page)
        check_values(chrome, page)
    check_quiet(chrome, page)
    check(page, chrome.pdf_pages() > 0, "does not print")
    chrome.open(page, scripts=False)
    check(page, chrome.value("document.querySelector('.tools') === null"),
          "has dead buttons without scripts")


def main(arguments):
    screenshots = None
    if arguments[:1] == ["--screenshots"]:
        screenshots, arguments = arguments[1], arguments[2:]
        os.makedirs(screenshots, exist_ok=True)
    if not arguments:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    try:
        chrome = Chrome()
    except Unavailable as e:
        print(e)
        return 77
    try:
        for page in arguments:
            check_page(chrome, page, screenshots)
    finally:
        chrome.close()
    print(f"{len(arguments)} pages in the browser, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
