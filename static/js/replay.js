// The replay of a session: j, k and the like follow the outline at once, and the step itself is fetched when the
// server has answered for the one before; a key that is held never waits. Without this file every move is a link.

const HELD_MS = 250;

let wanted = null;
let isLoading = false;
let lastMove = -Infinity;
let replaces = false; // moves of a held key share one entry of the history
const folds = new Map();

const outline = () => document.querySelector("[data-outline]");
const view = () => document.querySelector(".replay-view");
const linksOf = (list) => [...list.querySelectorAll("a[data-step]")];
const indexOf = (link) => Number(link.dataset.step);

// ---- The outline follows ----------------------------------------------------------------------------

function mark(link) {
  const list = outline();
  for (const former of list.querySelectorAll("[aria-current]")) former.removeAttribute("aria-current");
  if (!link) return;
  link.setAttribute("aria-current", "step");
  // Only the list itself scrolls, never the page.
  const top = link.offsetTop - list.offsetTop;
  const bottom = top + link.offsetHeight;
  const isSeen = top >= list.scrollTop && bottom <= list.scrollTop + list.clientHeight;
  if (!isSeen) list.scrollTop = top - list.clientHeight / 3;
}

function target(move) {
  const links = linksOf(outline());
  const here = links.findIndex((link) => link.hasAttribute("aria-current"));
  const at = Number(view().dataset.at);
  const before = here < 0 ? links.filter((link) => indexOf(link) < at) : links.slice(0, here);
  const after = here < 0 ? links.filter((link) => indexOf(link) > at) : links.slice(here + 1);
  const failed = (link) => "failed" in link.dataset;
  return {
    next: () => after[0],
    previous: () => before.at(-1),
    "next-failed": () => after.find(failed),
    "previous-failed": () => before.findLast(failed),
  }[move]?.();
}

// ---- The step is fetched ----------------------------------------------------------------------------

async function load() {
  if (isLoading) return;
  isLoading = true;
  try {
    while (wanted) {
      const url = wanted;
      wanted = null;
      const focused = document.activeElement?.id;
      const history = replaces ? { replace: url } : { push: url };
      replaces = true;
      await window.htmx.ajax("GET", url, { target: `#${view().id}`, swap: "outerHTML", ...history });
      if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
    }
  } finally {
    isLoading = false;
  }
  const spoken = document.getElementById("spoken");
  if (spoken) spoken.textContent = view()?.dataset.spoken ?? "";
}

function go(link, isKey) {
  const isHeld = isKey && performance.now() - lastMove < HELD_MS;
  lastMove = performance.now();
  if (!isHeld) replaces = false;
  mark(link);
  wanted = link.getAttribute("href");
  load();
}

document.addEventListener(
  "click",
  (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    const move = event.target.closest("[data-move]");
    const link = move ? outline() && target(move.dataset.move) : event.target.closest("[data-outline] a[data-step]");
    if (!link || !view()) return; // first, last, and what lies behind the outline's end are links
    event.preventDefault();
    event.stopImmediatePropagation();
    go(link, event.detail === 0); // keys.js clicks too, but no pointer does
  },
  true,
);

// ---- What was folded stays folded -------------------------------------------------------------------

document.addEventListener(
  "toggle",
  (event) => {
    const { fold } = event.target.dataset ?? {};
    if (fold) folds.set(fold, event.target.open);
  },
  true,
);

function settle() {
  for (const part of document.querySelectorAll("[data-fold]")) {
    if (folds.has(part.dataset.fold)) part.open = folds.get(part.dataset.fold);
  }
  const list = outline();
  if (list && !isLoading && view()) {
    mark(linksOf(list).find((link) => indexOf(link) === Number(view().dataset.at)));
  }
}

document.addEventListener("htmx:after:swap", settle);
settle();
