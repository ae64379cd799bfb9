#!/usr/bin/env python3
"""Builds the documentation as a site. Usage: build.py ROOT OUT. tools/docs calls it, and makes the API reference first.

Needs python3-markdown. Every page becomes an HTML file of the same name; links to pages, to public headers (their place in
the reference) and to other files (copied) are rewritten. Fails on any link in the result that leads nowhere."""

import html
import re
import shutil
import sys
from pathlib import Path

import markdown

from pages import FENCE, INDEX, links, pages, resolve, slug

TEMPLATE = """<!doctype html>
<html lang="en">
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · Hocket</title>
<link rel="stylesheet" href="{up}style.css">
<nav>{navigation}</nav>
<main>
{content}
</main>
</html>
"""
STYLE = """body { margin: 0 auto; max-width: 78rem; display: flex; gap: 3rem; font: 16px/1.5 system-ui, sans-serif; color: #222; }
nav { flex: 0 0 15rem; padding: 1.5rem 0 1.5rem 1rem; font-size: 0.9rem; }
nav a, nav strong { display: block; } nav strong { margin-top: 1rem; } nav a.here { font-weight: bold; }
main { flex: 1; min-width: 0; padding: 1rem; } a { color: #0b57a4; text-decoration: none; } a:hover { text-decoration: underline; }
pre { background: #f4f5f7; padding: 0.8rem; overflow-x: auto; } code { font: 0.9em ui-monospace, monospace; }
table { border-collapse: collapse; display: block; overflow-x: auto; } th, td { border: 1px solid #ddd; padding: 0.25rem 0.6rem; }
img { max-width: 100%; } @media (max-width: 60rem) { body { display: block; } }
"""
API = "api/index.html"
TARGET = re.compile(r'\b(href|src)="([^"]*)"')


def html_name(page):
    return page[:-3] + ".html"


def place_of(file):
    """Where the site has a file of the tree."""
    if file.endswith(".md"):
        return html_name(file)
    header = re.fullmatch(r"include/hocket/(\w+)\.(hp?p?)", file)
    if header:
        return f"api/{header[1].replace('_', '__')}_8{header[2]}.html"
    return "files/" + file


def up_from(page):
    return "../" * page.count("/")


def navigation(root, here):
    """The index as a list of links: its headings, and below them its pages."""
    text, up = (root / INDEX).read_text(), up_from(here)
    parts = [f'<a href="{up}README.html">Hocket</a>', f'<a href="{up}{html_name(INDEX)}">All pages</a>',
             f'<a href="{up}{API}">C and C++ API</a>']
    for line in text.splitlines():
        if line.startswith("## "):
            parts.append(f"<strong>{html.escape(line[3:])}</strong>")
        for label, target in re.findall(r"^- \[([^\]]+)\]\(([^)]+\.md)\)", line):
            page, _ = resolve(INDEX, target)
            mark = ' class="here"' if page == here else ""
            parts.append(f'<a{mark} href="{up}{html_name(page)}">{html.escape(label)}</a>')
    return "\n".join(parts)


def for_python_markdown(text):
    """GitHub's Markdown as python-markdown wants it: a blank line before a list, and code in a list as an indented block."""
    lines, indented = [], None
    for line in text.splitlines():
        fence = FENCE.match(line)
        if fence and (fence[1] or indented):
            indented = None if indented else fence[1]
            lines.append("")
        elif indented:
            lines.append(" " * 8 + line[len(indented):])
        else:
            is_item = re.match(r"([-*]|\d+\.) ", line)
            if is_item and lines and lines[-1].strip() and not re.match(r"([-*]|\d+\.) |\s", lines[-1]):
                lines.append("")
            lines.append(re.sub(r"^ {2,3}(?=\S)", "    ", line))
    return "\n".join(lines)


def page_to_html(root, page):
    text = (root / page).read_text()
    converter = markdown.Markdown(extensions=["tables", "fenced_code", "sane_lists", "toc"],
                                  extension_configs={"toc": {"slugify": lambda value, _: slug(value)}})
    body = converter.convert(for_python_markdown(re.sub(r"<!--.*?-->\n?", "", text, flags=re.DOTALL)))

    def rewrite(match):
        target = html.unescape(match[2])
        if re.match(r"[a-z]+:", target) or target.startswith("#"):
            return match[0]
        file, anchor = resolve(page, target)
        return f'{match[1]}="{up_from(page)}{place_of(file)}{"#" + anchor if anchor else ""}"'

    title = re.sub(r"`", "", text.splitlines()[0].lstrip("# "))
    return TEMPLATE.format(title=html.escape(title), up=up_from(page), navigation=navigation(root, page),
                           content=TARGET.sub(rewrite, body))


def dead_links(out):
    ids = {}
    for file in sorted(out.rglob("*.html")):
        if file.relative_to(out).parts[0] in ("api", "files"):
            continue  # made by Doxygen, which checks its own; or no page of ours
        text = file.read_text()
        for target in (html.unescape(found[1]) for found in TARGET.findall(text)):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            to = (file.parent / path).resolve() if path else file
            if not to.is_file():
                yield f"{file.relative_to(out)}: {target} leads nowhere"
            elif anchor and to.suffix == ".html":
                known = ids.setdefault(to, set(re.findall(r'\bid="([^"]*)"', to.read_text())))
                if html.unescape(anchor) not in known:
                    yield f"{file.relative_to(out)}: {target} has no such anchor"


def build(root, out):
    for page in pages(root):
        target = out / html_name(page)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(page_to_html(root, page))
        for _, link in links((root / page).read_text()):
            file, _ = resolve(page, link)
            if place_of(file).startswith("files/"):
                copy = out / place_of(file)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(root / file, copy)
    (out / "style.css").write_text(STYLE)
    (out / "index.html").write_text('<meta http-equiv="refresh" content="0; url=README.html">\n')
    return list(dead_links(out))


if __name__ == "__main__":
    dead = build(Path(sys.argv[1]), Path(sys.argv[2]))
    for problem in dead:
        print(f"docs: {problem}", file=sys.stderr)
    sys.exit(1 if dead else 0)
