// Light or dark: as the system says, until the reader or `?theme=` decides.
const root = document.documentElement;
const theme = {
  listeners: [],
  system: matchMedia("(prefers-color-scheme: dark)"),
  chosen: root.dataset.theme,
  get dark() { return this.chosen ? this.chosen === "dark" : this.system.matches; },
  choose(name) {
    this.chosen = root.dataset.theme = name;
    try { localStorage.setItem("teiji-theme", name); } catch { /* a file may have no storage */ }
    this.tell();
  },
  tell() { this.listeners.forEach((listener) => listener()); },
  start() {
    const button = document.getElementById("theme");
    const label = () => { button.textContent = this.dark ? "Light" : "Dark"; };
    button.hidden = false;
    button.addEventListener("click", () => this.choose(this.dark ? "light" : "dark"));
    this.system.addEventListener("change", () => this.tell());
    this.listeners.push(label);
    label();
  },
};
// The colours of the moment, by their names in the style sheet.
const colour = (name) => getComputedStyle(root).getPropertyValue("--" + name).trim();
