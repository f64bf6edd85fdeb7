// Reads the page again every two seconds and puts in place what has changed. Without it the page
// is whole, and reads itself again every ten seconds.
"use strict";
const marked = (page) => Array.from(page.querySelectorAll("[data-live]"));

async function refresh() {
  if (document.hidden) return;
  const answer = await fetch(location.href, { cache: "no-store" });
  if (!answer.ok) throw new Error(String(answer.status));
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const focused = document.activeElement?.id;
  for (const now of marked(document)) {
    const next = page.getElementById(now.id);
    const selected = getSelection();
    const busy = selected && !selected.isCollapsed && now.contains(selected.anchorNode);
    if (next && !busy && now.innerHTML !== next.innerHTML) now.innerHTML = next.innerHTML;
  }
  document.title = page.title;
  if (focused && document.activeElement?.id !== focused) {
    document.getElementById(focused)?.focus({ preventScroll: true });
  }
}

async function follow() {
  try {
    await refresh();
    document.body.classList.remove("lost");
  } catch {
    document.body.classList.add("lost");
  }
  setTimeout(follow, 2000);
}

addEventListener("keydown", (event) => {
  if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) {
    event.preventDefault();
    document.getElementById("q")?.focus();
  }
});
if (marked(document).length) setTimeout(follow, 2000);
