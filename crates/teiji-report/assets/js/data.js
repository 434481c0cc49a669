// Unpacks the series; src/html/data.rs packs them and says how.
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
  const n = packed.count;
  const y = varints(packed.deviations, n).map((value) => value * packed.quantum_ns);
  const steps = packed.steps && varints(packed.steps, n - 1);
  const jumps = packed.jumps && varints(packed.jumps, n - 1);
  const x = new Float64Array(n), seq = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    if (i === 0) {
      seq[0] = packed.first;
      x[0] = packed.first_ns;
      continue;
    }
    const step = steps ? steps[i - 1] : 1;
    seq[i] = seq[i - 1] + step;
    const jump = jumps ? jumps[i - 1] * packed.jump_ns : 0;
    x[i] = x[i - 1] + step * packed.period_ns + (step === 1 ? y[i] : 0) + jump;
  }
  return { ...packed, x, y, seq };
}

// The first index at which the ascending `values` reach `value`.
function reach(values, value) {
  let low = 0, high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < value) low = middle + 1; else high = middle;
  }
  return low;
}

// Smallest and largest of `values`, and zero.
function extent(values) {
  let low = 0, high = 0;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}

// Whether a scale for all series leaves one of them too little to see; src/html/still.rs
// asks the same.
const TOO_FLAT = 12;
function flattens(all) {
  const extents = all.map((series) => extent(series.y));
  const [low, high] = extent(extents.flat());
  return extents.some(([from, to]) => (to - from) * TOO_FLAT < high - low);
}
