// Addresses of single frames, and the links from outliers to their charts:
// "#48213/CASE/SEED/FLOW" is one frame in its chart. "#48213" is the first
// outlier of this number, where the browser goes to its timeline, or else the
// first frame in its chart.
function addresses(figures) {
  const links = [...document.querySelectorAll("a[data-seq]")];
  const show = (seen, seq, name, seed, flow) => figures.some((figure) => {
    const series = figure.all.find((one) => one.case === name && one.seed === seed && one.flow === flow);
    if (series) figure.show(series, seq, seen);
    return series;
  });
  const follow = () => {
    const parts = /^#(\d+)(?:\/([^/]+)\/(\d+)\/([^/]+))?$/.exec(location.hash);
    if (!parts) return;
    const [, seq, name, seed, flow] = parts;
    if (name !== undefined) return show(true, Number(seq), decoded(name), Number(seed), decoded(flow));
    const link = links.find((one) => one.dataset.seq === seq);
    if (link) return show(false, Number(seq), link.dataset.case, Number(link.dataset.seed), link.dataset.flow);
    const first = figures.flatMap((figure) => figure.all).find((one) => one.seq.includes(Number(seq)));
    if (first) show(true, Number(seq), first.case, first.seed, first.flow);
  };
  for (const link of links) {
    const { seq, case: name, seed, flow } = link.dataset;
    link.href = "#" + [seq, encodeURIComponent(name), seed, encodeURIComponent(flow)].join("/");
    // The same address again is no change of it.
    link.addEventListener("click", () => { if (location.hash === link.hash) follow(); });
  }
  window.addEventListener("hashchange", follow);
  follow();
}

function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}
