"""Refreshes what pages take from the code.

- Each fenced block after `<!-- output: COMMAND -->` of the README. Commands run in a fresh folder
  that holds the README's example, so the page shows what a reader would see.
- Each table after `<!-- keys: SECTION -->` of the project file's reference.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from joinery.project.reference import with_tables

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
REFERENCE = ROOT / "docs" / "project_file.md"
BLOCK = re.compile(r"<!-- output: (?P<command>.+?) -->\n```(?P<kind>\w*)\n.*?```\n", re.DOTALL)
DECLARATION = re.compile(r"```yaml\n(?P<text>name: .*?)```", re.DOTALL)
ROW = re.compile(r"^\| (?P<relation>\w+) \| `(?P<row>\{.*\})` \|$", re.MULTILINE)


def lay_out(page: str, folder: Path) -> None:
    """Write the page's declaration and its input rows as a project."""
    declaration = DECLARATION.search(page)
    assert declaration, "the README has no declaration"
    (folder / "joinery.yaml").write_text(declaration["text"], encoding="utf-8")
    for row in ROW.finditer(page):
        topic = folder / "data" / "changes" / row["relation"]
        topic.mkdir(parents=True, exist_ok=True)
        with (topic / "1.jsonl").open("a", encoding="utf-8") as lines:
            lines.write(row["row"] + "\n")


def output_of(command: str, folder: Path) -> str:
    """Return what a shell command prints, with this environment's commands first."""
    bin_folder = Path(sys.executable).parent
    done = subprocess.run(
        ["bash", "-c", f'PATH="{bin_folder}:$PATH"; {command}'],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout.strip("\n")


def refreshed(page: str) -> str:
    """Return the page with every output block run again."""
    with tempfile.TemporaryDirectory() as scratch:
        lay_out(page, Path(scratch))

        def run(block: re.Match[str]) -> str:
            printed = output_of(block["command"], Path(scratch))
            head = f"<!-- output: {block['command']} -->"
            fresh = f"{head}\n```{block['kind']}\n{printed}\n```\n"
            return block[0] if _but_versions(fresh) == _but_versions(block[0]) else fresh

        return BLOCK.sub(run, page)


def _but_versions(text: str) -> str:
    """Return a text without the versions of documents, which are times."""
    return re.sub(r'"version":\d+', '"version":…', text)


def main() -> None:
    """Refresh the reference, then the README."""
    REFERENCE.write_text(with_tables(REFERENCE.read_text(encoding="utf-8")), encoding="utf-8")
    page = README.read_text(encoding="utf-8")
    README.write_text(refreshed(page), encoding="utf-8")


if __name__ == "__main__":
    main()
