// Times arrive in UTC and are shown in local time; UTC stays in the tooltip.

const pad = (number) => String(number).padStart(2, "0");

function localText(moment) {
  const day = `${moment.getFullYear()}-${pad(moment.getMonth() + 1)}-${pad(moment.getDate())}`;
  const time = `${pad(moment.getHours())}:${pad(moment.getMinutes())}:${pad(moment.getSeconds())}`;
  return { day, time };
}

export function localize(root = document) {
  const today = localText(new Date()).day;
  for (const element of root.querySelectorAll("time[data-local]")) {
    const moment = new Date(element.dateTime);
    const { day, time } = localText(moment);
    if (!element.title) element.title = element.textContent;
    const text = element.dataset.local === "clock" || day === today ? time : `${day} ${time}`;
    if (element.textContent !== text) element.textContent = text;
  }
}

document.addEventListener("htmx:after:swap", () => localize());
document.addEventListener("log:added", () => localize());
localize();
