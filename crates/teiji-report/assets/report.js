// The one interactive part of report.html: every frame's deviation over time.
"use strict";
(() => {
  const root = document.documentElement;
  root.dataset.errors = "0";
  window.addEventListener("error", () => { root.dataset.errors = Number(root.dataset.errors) + 1; });

  // --- light and dark -------------------------------------------------------
  const wanted = new URLSearchParams(location.search).get("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const charts = [];
  function theme(name) {
    root.dataset.theme = name;
    charts.forEach((redraw) => redraw());
  }
  theme(wanted === "dark" || wanted === "light" ? wanted : dark.matches ? "dark" : "light");
  dark.addEventListener("change", (event) => theme(event.matches ? "dark" : "light"));
  document.getElementById("theme").addEventListener("click", () =>
    theme(root.dataset.theme === "dark" ? "light" : "dark"));
  const color = (name) => getComputedStyle(root).getPropertyValue(name).trim();

  // --- unpacking ------------------------------------------------------------
  function varints(text, count) {
    const bytes = atob(text);
    const values = new Float64Array(count);
    let at = 0;
    for (let i = 0; i < count; i++) {
      // Arithmetic, not bit operations: values may exceed 32 bits.
      let value = 0, factor = 1, byte;
      do {
        byte = bytes.charCodeAt(at++);
        value += (byte & 0x7f) * factor;
        factor *= 128;
      } while (byte & 0x80);
      values[i] = value % 2 ? -(value + 1) / 2 : value / 2;
    }
    return values;
  }
  function unpack(packed) {
    const deviations = varints(packed.deviations, packed.count);
    const steps = packed.steps ? varints(packed.steps, packed.count - 1) : null;
    const x = new Float64Array(packed.count);
    let seq = packed.first;
    for (let i = 0; i < packed.count; i++) {
      if (i > 0) seq += steps ? steps[i - 1] : 1;
      x[i] = seq;
      deviations[i] *= packed.quantum_ns;
    }
    return { ...packed, x, y: deviations };
  }
  const all = JSON.parse(document.getElementById("data").textContent).map(unpack);

  // --- units ----------------------------------------------------------------
  const units = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
  const unitFor = (ns) => units.find(([size]) => ns >= size) || units[3];
  function show(ns) {
    if (ns === null || ns === undefined) return "–";
    const [size, name] = unitFor(Math.abs(ns));
    const number = (ns / size).toLocaleString("en", { maximumFractionDigits: 3 });
    return number.replace("-", "−") + " " + name;
  }

  // --- charts ---------------------------------------------------------------
  // Cases share one axis of sequence numbers; equal period means equal time.
  function table(series) {
    const tables = series.map((one) => [one.x, one.y]);
    return tables.length === 1 ? tables[0] : uPlot.join(tables);
  }
  // Points in a column of pixels as one bar from smallest to largest, and each
  // point where there is room: 60 000 frames stay smooth, no extreme is lost.
  function marks(u, index, from, to) {
    const { ctx } = u;
    const xs = u.data[0], ys = u.data[index];
    ctx.save();
    ctx.beginPath();
    ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    ctx.clip();
    ctx.fillStyle = color("--c" + ((index - 1) % 6));
    const size = 2 * devicePixelRatio;
    let column = null, low = 0, high = 0, drawn = 0;
    const flush = () => {
      if (column !== null) ctx.fillRect(column - size / 2, high - size / 2, size, low - high + size);
    };
    for (let i = from; i <= to; i++) {
      const value = ys[i];
      if (value === null || value === undefined) continue;
      const x = Math.round(u.valToPos(xs[i], "x", true));
      const y = u.valToPos(value, "y", true);
      if (x !== column) { flush(); column = x; low = high = y; }
      low = Math.max(low, y); high = Math.min(high, y);
      drawn++;
    }
    flush();
    ctx.restore();
    u.root.dataset["drawn" + index] = drawn;
    return null;
  }
  function chart(place, series) {
    const data = table(series);
    const period = series[0].period_ns;
    let most = 1;
    series.forEach((one) => one.y.forEach((value) => { most = Math.max(most, Math.abs(value)); }));
    const [size, name] = unitFor(most);
    const seconds = (seq) => (seq * period) / 1e9;
    const axis = () => ({
      stroke: () => color("--soft"), grid: { stroke: () => color("--rule"), width: 1 },
      ticks: { stroke: () => color("--rule"), width: 1 }, font: "12px system-ui, sans-serif",
      labelFont: "12px system-ui, sans-serif", labelSize: 18,
    });
    const options = {
      width: place.clientWidth || 640, height: 320,
      scales: { x: { time: false } },
      cursor: { drag: { x: true, y: true, uni: 30 }, points: { show: false } },
      axes: [
        { ...axis(), label: "time since the first departure in s",
          values: (u, ticks) => ticks.map((seq) => +seconds(seq).toPrecision(6)) },
        { ...axis(), size: 58, label: "deviation in " + name,
          values: (u, ticks) => ticks.map((ns) => String(+(ns / size).toPrecision(4)).replace("-", "−")) },
      ],
      series: [
        { label: "frame", value: (u, seq) => seq === null ? "–" : "#" + seq + " at " + seconds(seq).toFixed(3) + " s" },
        ...series.map((one, i) => ({
          label: one.case, stroke: () => color("--c" + (i % 6)), paths: () => null,
          points: { show: (u, index, from, to) => marks(u, index, from, to) },
          value: (u, ns) => show(ns),
        })),
      ],
      legend: { live: true },
    };
    const plot = new uPlot(options, data, place);
    charts.push(() => plot.redraw());
    new ResizeObserver(() => {
      if (place.clientWidth && place.clientWidth !== plot.width) {
        plot.setSize({ width: place.clientWidth, height: 320 });
      }
    }).observe(place);
    pinch(plot);
    return plot;
  }
  // Two fingers zoom along the time axis; a double tap shows all again.
  function pinch(plot) {
    let start = null, tapped = 0;
    const reset = () => plot.setData(plot.data, true);
    plot.over.addEventListener("touchstart", (event) => {
      if (event.touches.length === 2) {
        const [a, b] = [...event.touches].map((touch) => plot.posToVal(touch.clientX - plot.over.getBoundingClientRect().left, "x"));
        start = { a: Math.min(a, b), b: Math.max(a, b) };
      } else if (Date.now() - tapped < 300) reset();
      tapped = Date.now();
    }, { passive: true });
    plot.over.addEventListener("touchmove", (event) => {
      if (!start || event.touches.length !== 2) return;
      event.preventDefault();
      const box = plot.over.getBoundingClientRect();
      const [p, q] = [...event.touches].map((touch) => (touch.clientX - box.left) / box.width).sort((m, n) => m - n);
      if (q - p < 0.02) return;
      const span = (start.b - start.a) / (q - p);
      const min = start.a - p * span;
      plot.setScale("x", { min, max: min + span });
    }, { passive: false });
    plot.over.addEventListener("touchend", () => { start = null; });
    plot.over.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.shiftKey) return;
      event.preventDefault();
      const { min, max } = plot.scales.x;
      const at = plot.posToVal(event.offsetX, "x");
      const factor = event.deltaY < 0 ? 0.8 : 1.25;
      plot.setScale("x", { min: at - (at - min) * factor, max: at + (max - at) * factor });
    }, { passive: false });
  }

  // --- one chart a flow, one member at a time ---------------------------------
  let points = 0;
  document.querySelectorAll(".series").forEach((place) => {
    const series = all.filter((one) => one.flow === place.dataset.flow && one.count > 0);
    if (!series.length) { place.textContent = "No interval was seen."; return; }
    const seeds = [...new Set(series.map((one) => one.seed))];
    const holder = document.createElement("div");
    const draw = (seed) => {
      holder.textContent = "";
      chart(holder, series.filter((one) => one.seed === seed));
    };
    if (seeds.length > 1) {
      const select = document.createElement("select");
      select.setAttribute("aria-label", "seed");
      seeds.forEach((seed) => select.add(new Option("seed " + seed, seed)));
      select.addEventListener("change", () => draw(Number(select.value)));
      place.append(select);
    }
    place.append(holder);
    draw(seeds[0]);
    points += series.reduce((sum, one) => sum + one.count, 0);
  });
  root.dataset.points = points;
  root.dataset.ready = "yes";
})();
