// The page is complete without this: it switches the theme and narrows the page to figures of a name.
const root = document.documentElement;
const stored = localStorage.getItem("hadal-bench-theme");
if (stored) root.dataset.theme = stored;
document.getElementById("theme").addEventListener("click", () => {
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  root.dataset.theme = (root.dataset.theme || system) === "dark" ? "light" : "dark";
  localStorage.setItem("hadal-bench-theme", root.dataset.theme);
});
document.getElementById("filter").addEventListener("input", (event) => {
  const word = event.target.value.toLowerCase();
  for (const item of document.querySelectorAll("[data-name]")) {
    item.hidden = !item.dataset.name.includes(word);
  }
});
