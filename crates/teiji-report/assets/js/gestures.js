// Wheel, pinch and sideways drags. The page keeps its own scrolling: a bare
// wheel zooms only after the chart was clicked, until the pointer leaves it.
function gestures(figure, plot) {
  const over = plot.over;
  const place = (client) => client - over.getBoundingClientRect().left;
  let clicked = false;
  over.addEventListener("mousedown", () => { clicked = true; });
  over.addEventListener("mouseleave", () => { clicked = false; });
  over.addEventListener("wheel", (event) => {
    if (!clicked && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const pixels = event.deltaY * (event.deltaMode ? 30 : 1);
    figure.zoom(plot.posToVal(place(event.clientX), "x"), Math.exp(Math.max(-0.5, Math.min(0.5, pixels / 300))));
  }, { passive: false });

  let held = null;
  const hold = (touches) => {
    const at = [...touches].map((touch) => place(touch.clientX));
    held = at.length ? { at, values: at.map((left) => plot.posToVal(left, "x")) } : null;
  };
  over.addEventListener("touchstart", (event) => hold(event.touches), { passive: true });
  over.addEventListener("touchend", (event) => hold(event.touches), { passive: true });
  over.addEventListener("touchcancel", () => { held = null; });
  over.addEventListener("touchmove", (event) => {
    if (!held || event.touches.length !== held.at.length) return;
    const at = [...event.touches].map((touch) => place(touch.clientX));
    const width = over.clientWidth;
    if (at.length === 1) {
      const [from, to] = figure.view.x;
      const shift = held.values[0] - (from + at[0] / width * (to - from));
      figure.window(from + shift, to + shift);
    } else if (at.length === 2 && Math.abs(at[1] - at[0]) > 12) {
      event.preventDefault();
      // The two values stay under the two fingers.
      const span = (held.values[1] - held.values[0]) / (at[1] - at[0]) * width;
      if (span <= 0) return;
      const from = held.values[0] - at[0] / width * span;
      figure.window(from, from + span);
    }
  }, { passive: false });
}
