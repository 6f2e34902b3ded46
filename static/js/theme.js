// The theme switch without a page load: set the theme at once, then store it with the form's own request.
// Without scripts the same form posts and the server sends the page again.

// Choices are stored one after another: of two quick ones, the later must be what stays.
let stored = Promise.resolve();

document.addEventListener("submit", async (event) => {
  const form = event.target.closest("[data-theme-form]");
  if (!form) return;
  event.preventDefault();

  const choice = form.querySelector("button[name=theme]");
  const body = new FormData(form, choice);
  const order = choice.dataset.order.split(" ");
  const theme = choice.value;
  document.documentElement.dataset.theme = theme;
  choice.value = order[(order.indexOf(theme) + 1) % order.length];
  for (const each of form.querySelectorAll("[data-theme-word]")) each.hidden = each.dataset.themeWord !== theme;
  document.dispatchEvent(new CustomEvent("themechange"));

  const { action } = form;
  const isOk = stored.then(async () => {
    const response = await fetch(action, {
      method: "POST", body, headers: { Accept: "application/json" }, keepalive: true,
    });
    return response.ok;
  });
  stored = isOk.catch(() => {});
  if (!(await isOk)) form.submit();
});
