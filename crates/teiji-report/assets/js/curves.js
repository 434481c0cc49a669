// What lies under the pointer in a histogram or tail; the pictures themselves
// are finished (src/html/svg.rs).
function readable(svg) {
  const note = svg.parentElement.querySelector("figcaption .readout");
  const spec = JSON.parse(svg.dataset.plot);
  const pointer = svg.querySelector(".pointer");
  const silent = note.textContent;
  const value = (share) => spec.log ? spec.low * (spec.high / spec.low) ** share : spec.low + share * (spec.high - spec.low);
  const share = (ns) => spec.log ? Math.log(ns / spec.low) / Math.log(spec.high / spec.low) : (ns - spec.low) / (spec.high - spec.low);
  const hide = () => { pointer.style.visibility = "hidden"; note.textContent = silent; };
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const at = (event.clientX - box.left) / box.width * spec.width;
    const inside = (at - spec.left) / (spec.right - spec.left);
    if (inside < 0 || inside > 1) return hide();
    const hidden = svg.closest("section").classList;
    const curves = spec.curves.filter((curve) => !hidden.contains("hidden-c" + curve.colour));
    const found = spec.log ? exceeding(curves, value(inside)) : bar(curves, value(inside), spec);
    const x = spec.left + Math.max(0, Math.min(1, share(found.at))) * (spec.right - spec.left);
    pointer.setAttribute("x1", x);
    pointer.setAttribute("x2", x);
    pointer.style.visibility = "visible";
    note.replaceChildren(found.text, ...found.parts.flatMap((part, i) => [
      i ? ", " : " ", element("b", "", part.name), " " + part.text,
    ]));
  });
}

// A bar: how many intervals fall into it, case by case.
function bar(curves, ns, { first, step }) {
  const index = Math.floor((ns - first) / step);
  const from = first + index * step;
  const parts = curves.map((curve) => {
    const entry = curve.values.find(([number]) => number === index);
    return { name: curve.name, text: grouped(entry ? entry[1] : 0, 0) };
  });
  return { at: from + step / 2, text: duration(from + step / 2, true) + ":", parts };
}

// The tail: how many intervals deviate by at least so much, case by case.
function exceeding(curves, ns) {
  const all = curves.flatMap((curve) => curve.values.map(([value]) => value)).filter((value) => value > 0);
  const at = all.reduce((best, value) =>
    Math.abs(Math.log(value / ns)) < Math.abs(Math.log(best / ns)) ? value : best, all[0] || ns);
  const parts = curves.map((curve) => {
    const entry = curve.values.find(([value]) => value >= at);
    return { name: curve.name, text: grouped(entry ? entry[1] : 0, 0) + " of " + grouped(curve.total, 0) };
  });
  return { at, text: "≥ " + duration(at) + ":", parts };
}
