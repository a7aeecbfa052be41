"""Pages in a real browser: Debian's chromium, headless (`apt-get install chromium`); without one, tests are skipped."""
from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from html import unescape
from pathlib import Path

import pytest

PROBE = """<script>
addEventListener("load", () => {
  const found = {};
  const root = document.querySelector(".rx");
  const channels = getComputedStyle(root).backgroundColor.match(/[0-9.]+/g).map(Number);
  found.dark = channels[0] + channels[1] + channels[2] < 3 * 128;
  found.sideways = document.documentElement.scrollWidth > innerWidth + 1;
  found.text = document.body.innerText;
  found.requests = performance.getEntriesByType("resource").map(e => e.name);
  const light = c => { const m = c.match(/[0-9.]+/g).map(Number).map(v => v / 255);
    const f = v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    return 0.2126 * f(m[0]) + 0.7152 * f(m[1]) + 0.0722 * f(m[2]); };
  const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
    if (c && !/rgba\\(.*, 0\\)/.test(c)) return c; } return "rgb(255, 255, 255)"; };
  found.faint = [];
  for (const e of document.querySelectorAll("main *")) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
    if (e.closest("svg, style, script")) continue;
    const a = light(getComputedStyle(e).color), b = light(ground(e));
    if ((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5) found.faint.push(e.outerHTML.slice(0, 80));
  }
  const named = e => (e.getAttribute("aria-label") || e.textContent || e.title || "").trim();
  found.nameless = [...document.querySelectorAll("a, button, summary, [role=region], [role=img], [tabindex]")]
    .filter(e => !named(e)).map(e => e.outerHTML.slice(0, 80));
  for (const e of document.querySelectorAll("details")) e.open = true;
  found.opened = document.body.innerText;
  const out = document.createElement("pre");
  out.id = "probe"; out.textContent = JSON.stringify(found); document.body.append(out);
});
</script>"""


@dataclass
class Seen:
    """What a browser makes of a page."""

    text: str
    opened: str
    is_dark: bool
    scrolls_sideways: bool
    requests: list[str]
    faint: list[str]
    nameless: list[str]
    picture: Path


def browser() -> str:
    """The browser's path; skips the test where there is none."""
    found = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))),
                 None)
    if found is None:
        pytest.skip("there is no chromium: apt-get install chromium")
    return found


def look(page: str, folder: Path, scheme: str = "light", width: int = 1200) -> Seen:
    """Open a page and look: its text, colours, whether everything has a name and enough contrast. The picture stays in
    the folder, and in REACTANT_PICTURES where that is set."""
    program, file, picture = browser(), folder / "page.html", folder / f"{scheme}.png"
    file.write_text(page.replace("</head>", PROBE + "</head>"), encoding="utf-8")
    how = [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
           f"--user-data-dir={folder / 'profile'}", f"--window-size={width},2400",
           *(["--blink-settings=preferredColorScheme=0"] if scheme == "dark" else [])]
    env = {**os.environ, "HOME": str(folder)}
    done = subprocess.run([*how, "--virtual-time-budget=4000", "--dump-dom", file.as_uri()], capture_output=True,
                          text=True, timeout=120, env=env)
    told = re.search(r'<pre id="probe">(.*?)</pre>', done.stdout, re.DOTALL)
    assert told, f"the page did not load: {done.stderr[-2000:]}"
    found = json.loads(unescape(told[1]))
    plain = folder / "plain.html"
    plain.write_text(page, encoding="utf-8")
    subprocess.run([*how, f"--screenshot={picture}", plain.as_uri()], capture_output=True, timeout=120, env=env)
    assert picture.stat().st_size > 5000
    if kept := os.environ.get("REACTANT_PICTURES"):
        shutil.copy(picture, Path(kept) / f"{folder.name}-{scheme}.png")
    return Seen(found["text"], found["opened"], found["dark"], found["sideways"],
                [each for each in found["requests"] if not each.startswith("file:")], found["faint"],
                found["nameless"], picture)
