// Brings the page to life. The counts on the root element are for tests: what
// was unpacked, and what went wrong.
root.dataset.errors = "0";
{
  const note = (message) => {
    root.dataset.errors = Number(root.dataset.errors) + 1;
    root.dataset.error = message;
  };
  window.addEventListener("error", (event) => note(event.message));
  window.addEventListener("unhandledrejection", (event) => note(String(event.reason)));
  const say = console.error;
  console.error = (...what) => { note(what.join(" ")); say(...what); };
}
theme.start();
root.classList.add("script");
{
  let points = 0;
  const figures = [];
  const all = JSON.parse(document.getElementById("data").textContent).filter((packed) => packed.count > 0).map(unpack);
  for (const place of document.querySelectorAll(".series")) {
    const series = all.filter((one) => one.flow === place.dataset.flow);
    if (!series.length) continue;
    points += series.reduce((sum, one) => sum + one.count, 0);
    figures.push(new Figure(place, series));
  }
  document.querySelectorAll("svg[data-plot]").forEach(readable);
  root.dataset.points = points;
  addresses(figures);
}
// Paper shows what is folded.
window.addEventListener("beforeprint", () => {
  document.querySelectorAll("details:not([open])").forEach((part) => { part.open = true; part.dataset.unfolded = ""; });
});
window.addEventListener("afterprint", () => {
  document.querySelectorAll("details[data-unfolded]").forEach((part) => { part.open = false; delete part.dataset.unfolded; });
});
root.dataset.ready = "yes";
