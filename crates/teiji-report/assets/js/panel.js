// One case's deviations over time: axes by uPlot, marks drawn here, because
// tens of thousands of points share each column of pixels.
class Panel {
  constructor(owner, place, series, last) {
    this.owner = owner;
    this.series = series;
    this.place = element("div", "panel c" + series.colour);
    this.place.dataset.loads = series.loads.length;
    const name = element("p", "name", series.case);
    if (series.about) name.append(element("span", "", series.about));
    this.scale = element("span", "own");
    name.append(this.scale);
    this.place.append(name);
    place.append(this.place);
    this.last = last;
    this.plot = new uPlot(this.options(), [series.x, series.y], this.place);
    this.dot = element("div", "dot");
    this.line = element("div", "found");
    this.ring = element("div", "dot");
    this.tip = element("div", "tip");
    this.plot.over.append(this.line, this.ring, this.dot, this.tip);
    this.plot.over.tabIndex = 0;
    this.plot.over.setAttribute("aria-label", series.case + ": " + series.value + " over time. Arrow keys move, plus and minus zoom, 0 shows everything.");
  }

  get height() { return this.owner.height + (this.last ? 51 : 9); }
  get width() { return Math.max(240, this.owner.live.clientWidth); }

  options() {
    const axis = (more) => ({
      stroke: () => colour("soft"), font: "12px system-ui, sans-serif", gap: 5,
      labelFont: "12px system-ui, sans-serif", labelGap: 0, labelSize: 16,
      grid: { stroke: () => colour("grid"), width: 1 }, ticks: { stroke: () => colour("rule"), width: 1, size: 5 },
      ...more,
    });
    const nice = [];
    for (let exponent = 0; exponent < 17; exponent++) nice.push(...[1, 2, 5].map((n) => n * 10 ** exponent));
    const x = axis({
      incrs: nice, space: 76, size: this.last ? 28 : 3, values: (u, values) => this.last ? ticks(values) : values.map(() => ""),
    });
    if (this.last) Object.assign(x, { label: "time since the first " + this.series.one, labelSize: 17 });
    return {
      width: this.width, height: this.height, padding: [6, 18, 0, 0],
      scales: {
        x: { time: false, range: () => this.owner.view.x },
        y: { range: () => this.owner.yRange(this) },
      },
      axes: [x, axis({ incrs: nice, size: 66,
        // Low panels have closer ticks: a scale needs three.
        space: (u, index, min, max, height) => Math.min(26, height / 8), values: (u, values) => ticks(values), label: this.owner.narrow ? undefined : this.series.value })],
      series: [{}, { paths: () => null, points: { show: false } }],
      legend: { show: false },
      cursor: {
        x: true, y: false, points: { show: false }, drag: { x: true, y: true, uni: 24, setScale: false },
        bind: { dblclick: () => () => this.owner.reset() },
      },
      hooks: {
        draw: [() => this.draw()],
        setSelect: [(u) => this.owner.selected(u)],
        setCursor: [(u) => this.owner.hovered(this, u)],
      },
    };
  }

  // Marks on a raster of their own size: what falls into one cell is one mark,
  // the more the stronger, and a mark that stands alone is never lost. Behind
  // them, per column, the band from the smallest to the largest.
  draw() {
    const { plot, series: { x, y } } = this;
    const { ctx, bbox } = plot;
    const { min: x0, max: x1 } = plot.scales.x, { min: y0, max: y1 } = plot.scales.y;
    const from = Math.max(0, reach(x, x0)), to = Math.min(x.length, reach(x, x1 + 1));
    const ratio = devicePixelRatio || 1;
    const across = (i) => bbox.left + (x[i] - x0) / (x1 - x0) * bbox.width;
    const down = (i) => bbox.top + (y1 - y[i]) / (y1 - y0) * bbox.height;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    drawLoads(ctx, bbox, this);
    this.zero(ctx, bbox, y0, y1);
    ctx.fillStyle = ctx.strokeStyle = colour("c" + this.series.colour);
    if ((to - from) * 5 * ratio < bbox.width) this.joined(ctx, from, to, across, down, ratio);
    else this.raster(ctx, from, to, across, down, ratio);
    ctx.restore();
    this.markFound();
    this.drawn = to - from;
    this.place.dataset.drawn = this.drawn;
  }

  zero(ctx, bbox, y0, y1) {
    const at = Math.round(bbox.top + y1 / (y1 - y0) * bbox.height) + 0.5;
    ctx.strokeStyle = colour("soft");
    ctx.lineWidth = 1;
    ctx.beginPath();
    ctx.moveTo(bbox.left, at);
    ctx.lineTo(bbox.left + bbox.width, at);
    ctx.globalAlpha = 0.55;
    ctx.stroke();
    ctx.globalAlpha = 1;
  }

  // Few enough to see each: points, joined where none is missing in between.
  joined(ctx, from, to, across, down, ratio) {
    const { seq } = this.series;
    ctx.lineWidth = ratio;
    ctx.globalAlpha = 0.45;
    ctx.beginPath();
    for (let i = Math.max(1, from); i < Math.min(to + 1, seq.length); i++) {
      if (seq[i] !== seq[i - 1] + 1) continue;
      ctx.moveTo(across(i - 1), down(i - 1));
      ctx.lineTo(across(i), down(i));
    }
    ctx.stroke();
    ctx.globalAlpha = 1;
    ctx.beginPath();
    for (let i = from; i < to; i++) {
      const h = across(i), v = down(i);
      ctx.moveTo(h + 2.4 * ratio, v);
      ctx.arc(h, v, 2.4 * ratio, 0, 7);
    }
    ctx.fill();
  }

  raster(ctx, from, to, across, down, ratio) {
    const { bbox } = this.plot;
    const cell = Math.max(1, Math.round(1.5 * ratio));
    const columns = Math.ceil(bbox.width / cell) + 1, rows = Math.ceil(bbox.height / cell) + 1;
    const counts = new Uint32Array(columns * rows);
    const top = new Int32Array(columns).fill(rows), bottom = new Int32Array(columns).fill(-1);
    for (let i = from; i < to; i++) {
      const column = Math.floor((across(i) - bbox.left) / cell), row = Math.floor((down(i) - bbox.top) / cell);
      if (column < 0 || column >= columns || row < 0 || row >= rows) continue;
      counts[column * rows + row]++;
      if (row < top[column]) top[column] = row;
      if (row > bottom[column]) bottom[column] = row;
    }
    ctx.globalAlpha = 0.16;
    for (let column = 0; column < columns; column++) {
      if (bottom[column] > top[column]) {
        ctx.fillRect(bbox.left + column * cell, bbox.top + top[column] * cell, cell, (bottom[column] - top[column] + 1) * cell);
      }
    }
    const alone = Math.max(cell, Math.round(2.2 * ratio));
    // An extreme far from all others of its column: drawn to be seen alone.
    const far = Math.max(6, rows * 0.12);
    const isolated = (column, row) => {
      if (row !== top[column] && row !== bottom[column]) return false;
      for (let next = 1; next < far; next++) {
        if (row + next < rows && counts[column * rows + row + next]) return false;
        if (row - next >= 0 && counts[column * rows + row - next]) return false;
      }
      return counts[column * rows + row] < 4 && bottom[column] > top[column];
    };
    for (let column = 0; column < columns; column++) {
      for (let row = top[column]; row <= bottom[column]; row++) {
        const count = counts[column * rows + row];
        if (!count) continue;
        if (isolated(column, row)) {
          ctx.globalAlpha = 1;
          ctx.beginPath();
          ctx.arc(bbox.left + (column + 0.5) * cell, bbox.top + (row + 0.5) * cell, 2 * ratio, 0, 7);
          ctx.fill();
          continue;
        }
        const size = count > 3 ? Math.max(cell, Math.round(1.8 * ratio)) : alone;
        ctx.globalAlpha = Math.min(1, 0.6 + 0.12 * Math.log2(count));
        ctx.fillRect(bbox.left + column * cell - (size - cell >> 1), bbox.top + row * cell - (size - cell >> 1), size, size);
      }
    }
    ctx.globalAlpha = 1;
  }

  // The mark nearest to a place in the plot, in CSS pixels; -1 if none is near.
  nearest(left, top) {
    const { plot, series: { x, y } } = this;
    const { clientWidth: width, clientHeight: height } = plot.over;
    const { min: x0, max: x1 } = plot.scales.x, { min: y0, max: y1 } = plot.scales.y;
    const reachable = 24 * (x1 - x0) / width;
    const centre = x0 + left / width * (x1 - x0);
    let best = -1, distance = Infinity;
    for (let i = reach(x, centre - reachable); i < x.length && x[i] <= centre + reachable; i++) {
      const h = (x[i] - centre) / (x1 - x0) * width, v = (y1 - y[i]) / (y1 - y0) * height - top;
      // Across counts more: the eye follows the line of the cursor.
      const d = 4 * h * h + v * v;
      if (d < distance) { distance = d; best = i; }
    }
    return best;
  }

  // The frame that was looked for: a line at its time, and a ring at its point. Without one the
  // line is where the frame would be.
  markFound() {
    const { plot, series: { x, y, seq } } = this;
    const found = this.owner.found && this.owner.found.series === this.series;
    const index = found ? reach(seq, this.owner.found.seq) : -1;
    const has = found && seq[index] === this.owner.found.seq;
    const before = Math.max(0, index - 1), after = Math.min(index, x.length - 1);
    const left = found ? plot.valToPos(has ? x[index] : (x[before] + x[after]) / 2, "x") : -1;
    const inside = left >= 0 && left <= plot.over.clientWidth;
    this.line.style.display = inside ? "block" : "none";
    this.ring.style.display = inside && has ? "block" : "none";
    if (!inside) return;
    this.line.style.left = this.ring.style.left = left + "px";
    if (has) this.ring.style.top = plot.valToPos(y[index], "y") + "px";
  }

  mark(index) {
    const { plot, series: { x, y } } = this;
    const shown = index >= 0;
    this.dot.style.display = this.tip.style.display = shown ? "block" : "none";
    if (!shown) return;
    const left = plot.valToPos(x[index], "x"), top = plot.valToPos(y[index], "y");
    this.dot.style.left = left + "px";
    this.dot.style.top = top + "px";
    // Above the mark, not under a finger; inside the plot.
    const { offsetWidth: width, offsetHeight: height } = this.tip;
    const above = top - height - 12;
    this.tip.style.left = Math.max(0, Math.min(plot.over.clientWidth - width, left - width / 2)) + "px";
    this.tip.style.top = (above < -20 ? top + 14 : above) + "px";
  }

  refresh() { this.plot.redraw(false, true); }
  resize() { this.plot.setSize({ width: this.width, height: this.height }); }
}
