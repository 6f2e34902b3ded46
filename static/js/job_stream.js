// The live log of one job. htmx's hx-sse holds the one event stream: it resumes by Last-Event-ID, pauses in a
// hidden tab and closes at "done". Here each event becomes a line or a wish to refresh the job's regions.
//   - no line twice: events at or below the last id seen are ignored;
//   - the log follows only while its end is in view, and holds 2,000 lines at most.

const MAX_LINES = 2000;
const REFRESH_MS = 1000;
const END_SLACK_PX = 24;

let refreshTimer = null;

function refreshSoon(element) {
  refreshTimer ??= setTimeout(() => {
    refreshTimer = null;
    window.htmx.trigger(element, "job-changed");
  }, REFRESH_MS);
}

function cell(tag, className, text) {
  const element = document.createElement(tag);
  element.className = className;
  element.textContent = text;
  return element;
}

function line(entry) {
  const time = cell("time", "", entry.at);
  time.dateTime = entry.at;
  time.dataset.local = "clock";
  const item = document.createElement("li");
  item.dataset.level = entry.level || entry.kind;
  item.append(time, cell("span", "log-level", item.dataset.level), cell("span", "log-text", entry.text || entry.stage));
  return item;
}

function append(log, entry) {
  const isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < END_SLACK_PX;
  log.querySelector("[data-placeholder]")?.remove();
  log.append(line(entry));
  while (log.childElementCount > MAX_LINES) log.firstElementChild.remove();
  if (isAtEnd) log.scrollTop = log.scrollHeight;
  document.dispatchEvent(new CustomEvent("log:added"));
}

document.addEventListener("htmx:sse:before:message", (event) => {
  const stream = event.target.closest("[data-job-stream]");
  if (!stream) return;
  const { data, event: name, id } = event.detail.message;
  const log = stream.querySelector(".log");
  if (name === "done") {
    const state = stream.querySelector("[data-complete]");
    state.textContent = state.dataset.complete;
    refreshSoon(stream);
    return;
  }
  if (id && Number(id) <= Number(log.dataset.lastId)) {
    event.preventDefault();
    return;
  }
  if (id) log.dataset.lastId = id;
  const entry = JSON.parse(data);
  if (entry.kind !== "progress") append(log, entry);
  refreshSoon(stream);
});

// While the stream fails, htmx tries again by itself; meanwhile the end of the log is fetched as a region.
document.addEventListener("htmx:sse:error", (event) => {
  const log = event.target.closest("[data-job-stream]")?.querySelector(".log");
  if (log) window.htmx.trigger(log, "log-refresh");
});

for (const log of document.querySelectorAll("[data-job-stream] .log")) log.scrollTop = log.scrollHeight;
