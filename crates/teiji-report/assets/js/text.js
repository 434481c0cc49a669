// Numbers as people read them, with their units.
const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
const GAP = "\u00a0";

function grouped(value, decimals) {
  const [whole, fraction] = Math.abs(value).toFixed(decimals).split(".");
  const text = whole.replace(/\B(?=(\d{3})+$)/g, "\u202f") + (fraction ? "." + fraction : "");
  return value < 0 && /[1-9]/.test(text) ? "−" + text : text;
}

const unitFor = (ns) => UNITS.find(([size]) => Math.abs(ns) >= size * 0.9995) || UNITS[3];

// One duration, exact to the nanosecond where that takes no more than six digits.
function duration(ns, signed = false) {
  const [size, name] = unitFor(ns);
  const value = ns / size;
  let decimals = Math.max(0, Math.min(Math.round(Math.log10(size)), 5 - Math.floor(Math.log10(Math.abs(value) || 1))));
  while (decimals > 0 && Number(value.toFixed(decimals)) === Number(value.toFixed(decimals - 1))) decimals--;
  return (signed && ns > 0 ? "+" : "") + grouped(value, decimals) + GAP + name;
}

function bitRate(bps) {
  const [size, name] = [[1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"], [1, "bit/s"]].find(([least]) => bps >= least) || [1, "bit/s"];
  return grouped(bps / size, bps / size < 100 && size > 1 ? 1 : 0) + GAP + name;
}

// The ticks of one axis: one unit, just as many decimals as tell them apart.
function ticks(values) {
  const known = values.filter((value) => value !== null);
  const [size, name] = unitFor(Math.max(1, ...known.map(Math.abs)));
  const step = known.length > 1 ? Math.abs(known[1] - known[0]) : size;
  const decimals = Math.max(0, Math.min(9, -Math.floor(Math.log10(step / size) + 1e-9)));
  return values.map((value) => value === null ? "" : grouped(value / size, decimals) + GAP + name);
}

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}
