// What ran beside a series: a band a load at the foot of its panel, behind the
// marks, and its rate at an instant.
const BAND = 16;

function drawLoads(ctx, bbox, panel) {
  const { series: { loads }, plot, owner } = panel;
  const { min: x0, max: x1 } = plot.scales.x;
  const ratio = devicePixelRatio || 1;
  const height = Math.min(BAND * ratio, bbox.height / (2 * loads.length));
  const across = (ns) => bbox.left + (ns - x0) / (x1 - x0) * bbox.width;
  ctx.font = 10 * ratio + "px system-ui, sans-serif";
  // The axes leave their own.
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  loads.forEach((load, i) => {
    const foot = bbox.top + bbox.height - i * height;
    const most = owner.most.get(load.name);
    ctx.fillStyle = colour("soft");
    ctx.globalAlpha = 0.22;
    load.per_s.forEach((rate, step) => {
      const from = across(load.from_ns + step * load.step_ns), to = across(load.from_ns + (step + 1) * load.step_ns);
      const high = rate / most * (height - 2 * ratio);
      if (high && to > bbox.left && from < bbox.left + bbox.width) ctx.fillRect(from, foot - high, to - from, high);
    });
    ctx.globalAlpha = 0.9;
    ctx.fillText(load.name, bbox.left + 4 * ratio, foot - 4 * ratio);
  });
  ctx.globalAlpha = 1;
}

// The highest rate of each load, over all panels: one scale for it.
function highestRates(all) {
  const most = new Map();
  for (const { name, per_s } of all.flatMap((series) => series.loads))
    most.set(name, per_s.reduce((high, rate) => Math.max(high, rate), most.get(name) || 1));
  return most;
}

// Each load's rate at an instant: "tcp-tx 93.1 Mbit/s".
function loadsAt(loads, ns) {
  return loads.map((load) => {
    const rate = load.per_s[Math.floor((ns - load.from_ns) / load.step_ns)];
    return load.name + " " + (rate === undefined ? "not running" : load.bits ? bitRate(rate) : grouped(rate, 0) + GAP + "per second");
  });
}
