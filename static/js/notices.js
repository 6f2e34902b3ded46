// Notices: close buttons, good news that leaves by itself, and one notice when a request failed.

const GOOD_NEWS_MS = 8000;

const toasts = document.getElementById("toasts");

document.addEventListener("click", (event) => {
  event.target.closest("[data-dismiss]")?.closest(".notice").remove();
});

function letGoodNewsLeave() {
  for (const notice of toasts.querySelectorAll(".notice-pass:not([data-leaving])")) {
    notice.dataset.leaving = "";
    setTimeout(() => notice.matches(":hover, :focus-within") || notice.remove(), GOOD_NEWS_MS);
  }
}

// A failed request keeps the page as it is: the person loses nothing and is told once.
function tellFailure() {
  if (toasts.querySelector("[data-request-failed]")) return;
  const notice = document.getElementById("request-failed").content.firstElementChild.cloneNode(true);
  notice.dataset.requestFailed = "";
  toasts.append(notice);
}

document.addEventListener("htmx:error", tellFailure);
document.addEventListener("htmx:response:error", (event) => {
  if (event.detail.ctx.response.status >= 500) tellFailure();
});
document.addEventListener("htmx:after:request", (event) => {
  if (event.detail.ctx.response?.status < 500) toasts.querySelector("[data-request-failed]")?.remove();
});
document.addEventListener("htmx:after:swap", letGoodNewsLeave);
letGoodNewsLeave();
