"""The pages of the documentation: which there are, what they link to, and what is wrong with them.

Nothing here needs more than Python, so that tests can check pages on every machine."""

import re
from pathlib import Path

MAX_COLUMNS = 140
# Pages outside docs/ that readers reach from it.
OTHER_PAGES = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md"]
INDEX = "docs/index.md"
SOURCE_FOLDERS = ["algorithms", "bench", "include", "src", "tests", "tools", "transports"]

FENCE = re.compile(r"^( *)(```+)(.*)$")
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)")
PATH = re.compile(r"`((?:algorithms|bench|cmake|docs|examples|include|src|tests|tools|transports)/[\w./\-]*)`")
HEADING = re.compile(r"^(#+) +(.*?)\s*$")


def pages(root):
    """All pages, as paths relative to the root."""
    found = [path.relative_to(root).as_posix() for path in sorted((root / "docs").rglob("*.md"))]
    return found + [name for name in OTHER_PAGES if (root / name).is_file()]


def slug(heading):
    """The anchor of a heading, as GitHub makes it."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def prose(text):
    """(number, line) of the lines outside fenced blocks; code between backticks is blanked out."""
    fence = None
    for number, line in enumerate(text.splitlines(), 1):
        found = FENCE.match(line)
        if found and (fence is None or (found[2].startswith(fence) and not found[3].strip())):
            fence = found[2] if fence is None else None
            continue
        if fence is None:
            yield number, re.sub(r"`[^`]*`", lambda code: " " * len(code[0]), line)


def anchors(text):
    found = set()
    for number, _ in prose(text):
        heading = HEADING.match(text.splitlines()[number - 1])
        if not heading:
            continue
        name, count = slug(heading[2]), 0
        while (name if count == 0 else f"{name}-{count}") in found:
            count += 1
        found.add(name if count == 0 else f"{name}-{count}")
    return found


def links(text):
    """(line, target) of every link in prose that leads to a file or an anchor of this tree."""
    # Links may be broken over two lines, but a target never is.
    blanked = dict(prose(text))
    joined = "\n".join(blanked.get(number, "") for number in range(1, len(text.splitlines()) + 1))
    for found in LINK.finditer(joined):
        if not re.match(r"[a-z]+:", found[1]):
            yield joined.count("\n", 0, found.start()) + 1, found[1]


def resolve(page, target):
    """The file that a link on a page leads to, relative to the root, and the anchor in it."""
    path, _, anchor = target.partition("#")
    if not path:
        return page, anchor
    parts = []
    for part in [*page.split("/")[:-1], *path.split("/")]:
        if part == "..":
            parts = parts[:-1] if parts else ["..", "outside"]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts), anchor


def dead_links(root):
    for page in pages(root):
        text = (root / page).read_text()
        for number, target in links(text):
            file, anchor = resolve(page, target)
            if not (root / file).is_file():
                yield f"{page}:{number}: {target} is not a file"
            elif anchor and file.endswith(".md") and anchor not in anchors((root / file).read_text()):
                yield f"{page}:{number}: {file} has no heading for #{anchor}"


def orphans(root):
    """Pages of docs/ that the index does not link itself."""
    index = (root / INDEX).read_text()
    linked = {resolve(INDEX, target)[0] for _, target in links(index)}
    for page in pages(root):
        if page.startswith("docs/") and page != INDEX and page not in linked and not is_decision(page):
            yield f"{page}: {INDEX} does not link it"
    decisions = "docs/decisions/index.md"
    if (root / decisions).is_file():
        linked = {resolve(decisions, target)[0] for _, target in links((root / decisions).read_text())}
        for page in pages(root):
            if is_decision(page) and page not in linked:
                yield f"{page}: {decisions} does not link it"


def is_decision(page):
    return bool(re.match(r"docs/decisions/\d{4}-", page))


def lost_paths(root):
    """Files that pages name between backticks, and that are not there any more."""
    for page in pages(root):
        lines = (root / page).read_text().splitlines()
        if page == "CHANGELOG.md":
            continue  # tells of the past
        for number, _ in prose("\n".join(lines)):
            for path in PATH.findall(lines[number - 1]):
                if not (root / path).exists():
                    yield f"{page}:{number}: there is no {path}"


def lost_references(root):
    """Pages that comments in the sources name, and that are not there."""
    for folder in SOURCE_FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".c", ".cpp", ".h", ".hpp", ".py", "") and path.is_file() and path.parent != root / "tests/docs":
                for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                    for page in re.findall(r"\bdocs/[\w/\-]+\.md\b", line):
                        if not (root / page).is_file():
                            yield f"{path.relative_to(root).as_posix()}:{number}: there is no {page}"


def ill_formed(root):
    for page in pages(root):
        lines = (root / page).read_text().splitlines()
        for number, line in enumerate(lines, 1):
            if len(line) > MAX_COLUMNS:
                yield f"{page}:{number}: {len(line)} columns, more than {MAX_COLUMNS}"
        if not lines or not lines[0].startswith("# "):
            yield f"{page}:1: a page begins with its title"
        if page.startswith("docs/") and not re.fullmatch(r"[a-z0-9\-/.]+", page):
            yield f"{page}: names of pages are lower case, with hyphens"


def problems(root):
    """Everything that is wrong, one line each."""
    root = Path(root)
    return [*dead_links(root), *lost_paths(root), *lost_references(root), *orphans(root), *ill_formed(root)]
