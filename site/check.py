"""Checks the built site: every link and anchor leads somewhere, every page is valid HTML, nothing is loaded from elsewhere.

Usage: check.py FOLDER. Pages of rustdoc are only targets of links: rustdoc checks its own.
"""

import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import html5lib

# Parse errors in pages of the theme, which browsers read as intended.
ALLOWED = {"eof-in-head"}


def parsed(page):
    parser = html5lib.HTMLParser(namespaceHTMLElements=False)
    tree = parser.parse(page.read_text())
    return tree, [(position, code) for position, code, _ in parser.errors if code not in ALLOWED]


def main(folder):
    folder = Path(folder).resolve()
    pages = [page for page in sorted(folder.rglob("*.html")) if (folder / "rust") not in page.parents]
    problems, trees = [], {}

    def tree(page):
        if page not in trees:
            trees[page] = parsed(page)
        return trees[page][0]

    def anchors(page):
        names = {node.get("id") for node in tree(page).iter() if node.get("id")}
        return names | {node.get("name") for node in tree(page).iter("a") if node.get("name")}

    links = 0
    for page in pages:
        root = tree(page)
        problems += [f"{page.relative_to(folder)}: line {line}: {code}" for (line, _), code in trees[page][1]]
        for node in root.iter():
            for attribute in ("href", "src"):
                value = node.get(attribute)
                if not isinstance(node.tag, str) or value is None or value.startswith("data:"):
                    continue
                links += 1
                url = urlsplit(value)
                if url.scheme in ("http", "https", "mailto") or url.netloc:
                    # People may follow links to other sites; pages must not load anything from them.
                    if node.tag != "a" and node.get("rel") != "canonical":
                        problems.append(f"{page.relative_to(folder)}: loads {value}")
                    continue
                target = (page.parent / unquote(url.path)).resolve() if url.path else page
                if target.is_dir():
                    target /= "index.html"
                name = f"{page.relative_to(folder)}: {value}"
                if not target.is_file():
                    problems.append(f"{name}: no such file")
                elif url.fragment and target.suffix == ".html" and page.parent.name != "playground":
                    fragment = unquote(url.fragment)
                    if (folder / "playground") not in target.parents and fragment not in anchors(target):
                        problems.append(f"{name}: no such anchor")
    print(f"{len(pages)} pages, {links} links, {len(problems)} problems")
    for problem in problems:
        print(problem)
    return bool(problems) or not pages


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
