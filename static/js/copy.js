// A click on a short code copies the whole code and says so.

const SHOWN_MS = 1500;

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(button.dataset.copy);

  const use = button.querySelector("use");
  if (!use) return;
  const copyIcon = use.getAttribute("href");
  const status = document.getElementById("spoken");
  use.setAttribute("href", copyIcon.replace(/#.*/, "#check-lg"));
  if (status) status.textContent = status.dataset.copied;
  setTimeout(() => {
    use.setAttribute("href", copyIcon.replace(/#.*/, "#copy"));
    if (status) status.textContent = "";
  }, SHOWN_MS);
});
