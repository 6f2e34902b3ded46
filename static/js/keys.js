// Keyboard shortcuts. The registry is the page itself: every element with data-key="j", "Ctrl+Enter" or
// "g j" (two keys in a row) that is visible and enabled. The key is shown on the element and in the "?" sheet,
// so no key is advertised without a handler. [data-rows] gets j and k: next and previous row link.

const SEQUENCE_MS = 1000;
let pending = "";
let pendingUntil = 0;

const isTyping = (target) =>
  target.isContentEditable || target.matches("input:not([type=checkbox], [type=radio], [type=submit]), select, textarea");

const isUsable = (element) =>
  !element.disabled && element.getAttribute("aria-disabled") !== "true" && element.checkVisibility();

function nameOf(event) {
  const withControl = event.ctrlKey || event.metaKey;
  const key = event.key === " " ? "Space" : event.key;
  return (withControl ? "Ctrl+" : "") + (event.altKey ? "Alt+" : "") + key;
}

function usableElements() {
  return [...document.querySelectorAll("[data-key]")].filter(isUsable);
}

function find(key) {
  return usableElements().find((element) => element.dataset.key === key);
}

function act(element) {
  if (element.matches("input, select, textarea")) {
    element.focus();
    element.select?.();
  } else if (element.dataset.opensDialog) {
    openSheet(element);
  } else {
    element.click();
  }
}

function moveRow(step) {
  const links = [...document.querySelectorAll("[data-rows] .row-link")].filter(isUsable);
  if (!links.length) return false;
  const here = links.indexOf(document.activeElement);
  const next = here < 0 ? (step > 0 ? 0 : links.length - 1) : Math.min(Math.max(here + step, 0), links.length - 1);
  links[next].focus();
  return true;
}

function onKeydown(event) {
  if (event.defaultPrevented || event.isComposing || event.key === "Shift") return;
  const name = nameOf(event);
  if (isTyping(event.target) && !name.startsWith("Ctrl+")) {
    if (name === "Escape") event.target.blur();
    return;
  }
  if (document.querySelector("dialog:modal")) return;

  const sequence = Date.now() < pendingUntil ? `${pending} ${name}` : name;
  pendingUntil = 0;
  const element = find(sequence) ?? find(name);
  if (element) {
    event.preventDefault();
    act(element);
  } else if (name === "j" || name === "k") {
    if (moveRow(name === "j" ? 1 : -1)) event.preventDefault();
  } else if (usableElements().some((each) => each.dataset.key.startsWith(`${name} `))) {
    pending = name;
    pendingUntil = Date.now() + SEQUENCE_MS;
  }
}

// ---- Showing the keys: a badge on each element and one sheet --------------------------------------

function badges(key) {
  return key.split(" ").map((part) => {
    const badge = document.createElement("kbd");
    badge.textContent = part;
    return badge;
  });
}

const labelOf = (element) =>
  element.dataset.keyLabel || element.getAttribute("aria-label") || element.textContent.trim().replace(/\s+/g, " ");

function decorate() {
  for (const element of document.querySelectorAll("[data-key]:not([aria-keyshortcuts])")) {
    const { key } = element.dataset;
    element.dataset.keyLabel = labelOf(element);
    element.setAttribute("aria-keyshortcuts", key.replace("Ctrl", "Control"));
    if ("keyQuiet" in element.dataset) {
      element.title = `${element.title || element.dataset.keyLabel} (${key})`;
      continue;
    }
    const holder = element.matches("input, select, textarea") ? element.parentElement : element;
    for (const badge of badges(key)) {
      badge.setAttribute("aria-hidden", "true");
      badge.classList.add("keyboard-only");
      holder.append(badge);
    }
  }
}

function openSheet(opener) {
  const sheet = document.getElementById(opener.dataset.opensDialog);
  const list = sheet.querySelector(".key-list");
  const rows = usableElements().map((element) => [labelOf(element), element.dataset.key]);
  if (document.querySelector("[data-rows] .row-link")) {
    rows.push([list.dataset.nextRow, "j"], [list.dataset.previousRow, "k"]);
  }
  list.replaceChildren(
    ...rows.flatMap(([label, key]) => {
      const term = document.createElement("dt");
      term.textContent = label;
      const value = document.createElement("dd");
      value.append(...badges(key).flatMap((badge) => [badge, " "]));
      return [term, value];
    }),
  );
  sheet.showModal();
}

document.addEventListener("keydown", onKeydown);
document.addEventListener("htmx:after:swap", decorate);
document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-opens-dialog]");
  if (!opener) return;
  event.preventDefault();
  openSheet(opener);
});
decorate();
