"""Files of the site that are not in docs/: pages elsewhere in the repository, sources that pages link to, the playground.

Pages link to files of the repository by relative paths. `on_files` adds a page for each such file, and
`on_page_markdown` changes the links.
"""

import base64
import gzip
import os
import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File, InclusionLevel

ROOT = Path(__file__).resolve().parents[1]
# Pages outside docs/, and where they are in the site.
PAGES = {
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "CODE_OF_CONDUCT.md": "CODE_OF_CONDUCT.md",
    "SECURITY.md": "SECURITY.md",
    "sonnx/README.md": "sonnx/README.md",
    "sonnx/broadcast.md": "sonnx/broadcast.md",
}
# Paths in the repository that other pages of the site replace.
REPLACED = {"README.md": "index.md", "docs/README.md": "index.md", "site/playground/index.html": "playground/index.html"}
# A link whose text is the name of a page.
NAMED = re.compile(r"\[[\w./-]+\.md\]\(([^)\s#:]+\.md)\)")
LINK = re.compile(r"(\]\()([^)\s#:]+)((?:#[^)\s]*)?\))")
# Languages of sources, by extension.
LANGUAGES = {".rs": "rust", ".py": "python", ".mlw": "ocaml", ".toml": "toml", ".txt": "text", ".c": "c", ".h": "c"}


# A block of code, or an example of a docstring that is none: from a prompt to a blank line.
DOCTEST = re.compile(r"^```[\s\S]*?^```$|^>>> .*\n(?:.+\n)*", re.MULTILINE)


def repository_path(page, target):
    """The path in the repository that a link of a page, also a path in the repository, leads to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), target))


def site_path(path):
    """Where a path of the repository is in the site."""
    if path in REPLACED:
        return REPLACED[path]
    if path in PAGES:
        return PAGES[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"source/{path}.md"


def source_page(path):
    """A page with a source file, or with the files of a folder."""
    file = ROOT / path
    if file.is_dir():
        names = sorted(child.name + ("/" if child.is_dir() else "") for child in file.iterdir())
        body = "\n".join(f"- `{name}`" for name in names)
    else:
        body = f"````{LANGUAGES.get(file.suffix, 'text')}\n{file.read_text()}\n````"
    return f"---\nsearch: {{exclude: true}}\nhide: [toc]\n---\n\n# {path}\n\n{body}\n"


def on_files(files, config):
    texts = {f"docs/{file.src_uri}": Path(file.abs_src_path).read_text() for file in files.documentation_pages()}
    for path, uri in PAGES.items():
        texts[path] = (ROOT / path).read_text()
        files.append(File.generated(config, uri, content=texts[path]))
    linked = set()
    for page, text in texts.items():
        linked |= {repository_path(page, target) for _, target, _ in LINK.findall(text)}
    for path in sorted(linked - set(PAGES) - set(REPLACED)):
        # A link that leads nowhere stays, and is reported.
        if not path.startswith("docs/") and (ROOT / path).exists():
            page = File.generated(config, site_path(path), content=source_page(path))
            page.inclusion = InclusionLevel.NOT_IN_NAV
            files.append(page)
    for file in sorted((ROOT / "site/playground").iterdir()):
        files.append(File.generated(config, f"playground/{file.name}", content=file.read_bytes()))
    files.append(File.generated(config, "playground/engine.js", content=engine()))
    for name in ("iframe-worker.js", "pages.css", "pages.js"):
        files.append(File.generated(config, f"assets/{name}", content=(ROOT / "site" / name).read_text()))
    return files


def on_page_content(html, page, config, files):
    # A header without text is none.
    return re.sub(r"<th( [^>]*)?></th>", r"<td\1></td>", html)


def on_post_page(output, page, config):
    # The theme gives the search no name for screen readers.
    return output.replace('data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"')


def on_post_build(config):
    # For servers only, with links from their root.
    (Path(config.site_dir) / "404.html").unlink(missing_ok=True)


def engine():
    """The compiled engine as a script; a comment if it was not built."""
    path = os.environ.get("UNISHAPE_WASM")
    if not path:
        return "// The engine was not built.\n"
    packed = base64.b64encode(gzip.compress(Path(path).read_bytes(), 9, mtime=0)).decode()
    return f'"use strict";\nconst unishapeEngine = "{packed}";\n'


def fenced(example):
    return example[0] if example[0].startswith("```") else f"```pycon\n{example[0]}```\n"


def on_page_markdown(markdown, page, config, files):
    uri = page.file.src_uri
    origins = {uri: path for path, uri in PAGES.items()}
    origin = origins.get(uri, f"docs/{uri}")
    if uri.startswith("source/"):
        return markdown

    def changed(link):
        path = repository_path(origin, link[2])
        target = posixpath.relpath(site_path(path), posixpath.dirname(uri) or ".")
        return link[1] + (target if (ROOT / path).exists() else link[2]) + link[3]

    def titled(link):
        file = ROOT / repository_path(origin, link[1])
        heading = re.search(r"^# (.+)$", file.read_text(), re.MULTILINE) if file.is_file() else None
        return f"[{heading[1]}]({link[1]})" if heading else link[0]

    markdown = NAMED.sub(titled, markdown)
    if uri == "python-reference.md":
        markdown = DOCTEST.sub(fenced, markdown)
    return LINK.sub(changed, markdown.replace("```rust,ignore\n", "```rust\n"))
