// The time series of one flow: a panel a case, all with one window in time, on one scale
// or each on its own, cases to switch off, members to choose from.
class Figure {
  constructor(place, all) {
    this.place = place;
    this.all = all;
    this.most = highestRates(all);
    this.hidden = new Set();
    this.toggles = new Map();
    this.shared = !flattens(all);
    this.seeds = [...new Set(all.map((series) => series.seed))];
    this.seed = this.seeds[0];
    this.panels = [];
    this.live = element("div", "live");
    this.readout = element("p", "readout");
    this.readout.setAttribute("aria-live", "off");
    this.place.append(this.controls(), this.readout, this.live);
    this.build();
    theme.listeners.push(() => this.panels.forEach((panel) => panel.plot.redraw(false, false)));
    new ResizeObserver(() => this.resized()).observe(this.live);
  }

  controls() {
    const row = element("div", "legend screen");
    const names = [...new Map(this.all.map((series) => [series.case, series.colour]))];
    if (names.length > 1) names.forEach(([name, number]) => row.append(this.toggle(name, number)));
    if (this.seeds.length > 1) {
      const select = this.select = element("select");
      select.setAttribute("aria-label", "member of the ensemble");
      this.seeds.forEach((seed) => select.add(new Option("seed " + seed, seed)));
      select.addEventListener("change", () => { this.seed = Number(select.value); this.build(); });
      row.append(select);
    }
    if (names.length > 1) row.append(this.scaleButton());
    this.resetButton = element("button", "reset", "Show all");
    this.resetButton.type = "button";
    // Keeps its place while it is not needed: nothing moves under a finger.
    this.resetButton.style.visibility = "hidden";
    this.resetButton.addEventListener("click", () => this.reset());
    row.append(this.resetButton);
    return row;
  }

  scaleButton() {
    const button = element("button", "scale", "One scale");
    button.type = "button";
    button.setAttribute("aria-pressed", String(this.shared));
    button.addEventListener("click", () => {
      this.shared = !this.shared;
      button.setAttribute("aria-pressed", String(this.shared));
      this.view.y = null;
      this.apply();
    });
    return button;
  }

  // Zooms to a frame and marks it, or its place where it has no point; brings
  // the chart into sight if it is to be `seen`.
  show(series, seq, seen) {
    this.found = { series, seq };
    this.seed = series.seed;
    if (this.select) this.select.value = series.seed;
    const toggle = this.toggles.get(series.case);
    if (this.hidden.has(series.case) && toggle) toggle.click(); else this.build();
    const { x } = series, at = Math.min(reach(series.seq, seq), x.length - 1);
    this.view.y = null;
    this.window(x[Math.max(0, at - 15)], x[Math.min(x.length - 1, at + 15)]);
    const panel = this.panels.find((one) => one.series === series);
    if (seen) {
      panel.place.scrollIntoView({ block: "center" });
      panel.plot.over.focus({ preventScroll: true });
    }
    if (series.seq[at] === seq) this.tell(panel, at);
    else this.readout.textContent = series.case + " · " + series.one + " #" + grouped(seq, 0) + " has no point: "
      + (series.of > series.count ? "it is not drawn, or its " + series.value + " is unknown." : "its " + series.value + " is unknown.");
    root.dataset.found = seq;
  }

  toggle(name, number) {
    const button = element("button", "toggle c" + number);
    button.type = "button";
    button.setAttribute("aria-pressed", "true");
    button.append(element("i", "swatch"), name);
    this.toggles.set(name, button);
    button.addEventListener("click", () => {
      const shown = this.hidden.delete(name);
      if (!shown && this.hidden.size + 1 < new Set(this.all.map((series) => series.case)).size) this.hidden.add(name);
      button.setAttribute("aria-pressed", String(!this.hidden.has(name)));
      // Histogram and tail of the same flow follow.
      const curves = this.place.closest("section");
      curves.classList.toggle("hidden-c" + number, this.hidden.has(name));
      this.build();
    });
    return button;
  }

  build() {
    this.panels.forEach((panel) => panel.plot.destroy());
    this.live.replaceChildren();
    const shown = this.all.filter((series) => series.seed === this.seed && !this.hidden.has(series.case));
    const narrow = this.narrow = this.live.clientWidth < 600;
    this.height = shown.length < 2 ? (narrow ? 220 : 300) : shown.length < 4 ? (narrow ? 150 : 180) : 110;
    const low = Math.min(0, ...shown.map((series) => series.x[0]));
    const high = Math.max(1, ...shown.map((series) => series.x[series.x.length - 1]));
    this.full = [low, high];
    this.view = { x: this.view ? this.view.x : this.full, y: null };
    this.panels = [];
    shown.forEach((series, i) => this.panels.push(new Panel(this, this.live, series, i === shown.length - 1)));
    this.panels.forEach((panel) => this.keys(panel));
    this.series = shown;
    this.idle();
    this.apply();
  }

  // The values in sight, of all panels or of one, with a little air.
  yRange(panel) {
    if (this.view.y) return this.view.y;
    let low = Infinity, high = -Infinity;
    for (const { x, y } of this.shared ? this.series || [] : [panel.series]) {
      for (let i = reach(x, this.view.x[0]); i < x.length && x[i] <= this.view.x[1]; i++) {
        if (y[i] < low) low = y[i];
        if (y[i] > high) high = y[i];
      }
    }
    if (low > high) return [-1, 1];
    const air = Math.max(1, (high - low) * 0.08, high === low ? Math.abs(high) * 0.2 : 0);
    // A delay lies where it lies; deviations lie around zero.
    if (this.all[0].value === "delay") return [low - air, high + air];
    return [Math.min(low, 0) - air, Math.max(high, 0) + air];
  }

  apply() {
    // Panels that look alike may differ by orders of magnitude.
    const own = !this.shared && !this.view.y && this.panels.length > 1;
    this.panels.forEach((panel) => panel.plot.batch(() => {
      panel.scale.textContent = own ? "own scale" : "";
      const y = this.yRange(panel);
      panel.plot.setScale("x", { min: this.view.x[0], max: this.view.x[1] });
      panel.plot.setScale("y", { min: y[0], max: y[1] });
    }));
    const [from, to] = this.view.x;
    const everything = from <= this.full[0] && to >= this.full[1] && !this.view.y;
    this.resetButton.style.visibility = everything ? "hidden" : "visible";
    this.panels.forEach((panel) => panel.mark(-1));
  }

  // Not closer than a few frames, not further than everything.
  window(from, to) {
    const whole = this.full[1] - this.full[0];
    const least = 4 * Math.min(...this.series.map((series) => series.period_ns));
    const span = Math.min(whole, Math.max(least, to - from));
    const start = Math.max(this.full[0], Math.min(this.full[1] - span, (from + to - span) / 2));
    this.view.x = [start, start + span];
    this.apply();
  }

  zoom(centre, factor) {
    const [from, to] = this.view.x;
    this.window(centre - (centre - from) * factor, centre + (to - centre) * factor);
  }

  pan(share) {
    const [from, to] = this.view.x;
    this.window(from + share * (to - from), to + share * (to - from));
  }

  reset() {
    this.found = null;
    this.view = { x: this.full, y: null };
    this.apply();
  }

  selected(plot) {
    const { left, top, width, height } = plot.select;
    if (width < 4 && height < 4) return;
    const wholeHeight = height >= plot.over.clientHeight - 1, wholeWidth = width >= plot.over.clientWidth - 1;
    const [from, to] = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
    if (!wholeHeight) this.view.y = [plot.posToVal(top + height, "y"), plot.posToVal(top, "y")];
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    if (wholeWidth) this.apply(); else this.window(from, to);
  }

  hovered(panel, plot) {
    const { left, top } = plot.cursor;
    if (left < 0 || top < 0 || left === null) {
      if (this.active === panel) { panel.mark(-1); this.active = null; this.idle(); }
      return;
    }
    this.active = panel;
    this.panels.forEach((other) => { if (other !== panel) other.mark(-1); });
    const index = panel.nearest(left, top);
    if (index < 0) panel.mark(-1); else this.tell(panel, index);
  }

  tell(panel, index) {
    const { case: name, one, seq, x, y, loads } = panel.series;
    this.active = panel;
    panel.tip.replaceChildren(
      element("b", "", name), " · " + one + " #" + grouped(seq[index], 0) + " · at " + duration(x[index]) + " · ",
      element("b", "", duration(y[index], one === "frame")), ...loadsAt(loads, x[index]).map((load) => " · " + load),
    );
    panel.mark(index);
  }

  idle() {
    const thinned = this.all.some((series) => series.of > series.count);
    const touch = navigator.maxTouchPoints > 0 || matchMedia("(any-pointer: coarse)").matches;
    const { one } = this.all[0];
    const mouse = !touch || matchMedia("(any-hover: hover)").matches;
    this.readout.textContent = [
      mouse && "Drag to zoom; Ctrl + wheel too. Double-click for everything, hover for a " + one + ".",
      touch && "Pinch to zoom, drag sideways to move, double-tap for everything, tap for a " + one + ".",
    ].filter(Boolean).join(mouse && touch ? " On the screen itself: " : "")
      + (thinned ? " Of each group of neighbours the smallest and the largest are drawn." : "");
  }

  keys(panel) {
    const over = panel.plot.over;
    gestures(this, panel.plot);
    over.addEventListener("keydown", (event) => {
      const centre = (this.view.x[0] + this.view.x[1]) / 2;
      const act = {
        ArrowLeft: () => this.pan(-0.2), ArrowRight: () => this.pan(0.2), "+": () => this.zoom(centre, 0.6),
        "-": () => this.zoom(centre, 1 / 0.6), 0: () => this.reset(),
      }[event.key];
      if (act && !event.ctrlKey && !event.metaKey) { act(); event.preventDefault(); }
    });
  }

  resized() {
    const width = this.live.clientWidth;
    if (!width || width === this.shownWidth) return;
    this.shownWidth = width;
    if (this.narrow !== width < 600) return this.build();
    this.panels.forEach((panel) => panel.resize());
  }
}
