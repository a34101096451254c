// Numbers, times and elements, as people read them.

const SUFFIXES = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];

/** A count, short: 12,345 is 12.3k. */
export function count(value) {
  if (value == null || Number.isNaN(value)) return "–";
  for (const [size, suffix] of SUFFIXES) {
    if (Math.abs(value) >= size * 10 || (Math.abs(value) >= size && size > 1e3)) return `${trim(value / size)}${suffix}`;
  }
  return Number.isInteger(value) || Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en-US") : trim(value);
}

function trim(value) {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toFixed(digits).replace(/\.0+$/, "").replace(/(\.\d)0$/, "$1");
}

export const exactly = (value) => (value == null ? "–" : Math.round(value).toLocaleString("en-US"));

export function bytes(value) {
  if (!value) return "0 B";
  for (const [size, unit] of [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]]) {
    if (value >= size) return `${trim(value / size)} ${unit}`;
  }
  return `${value} B`;
}

export function percent(part) {
  if (!Number.isFinite(part)) return "–";
  return `${(100 * part).toFixed(part > 0 && part < 0.0995 ? 1 : 0)}%`;
}

/** Nanoseconds for a row, or for anything. */
export function nanoseconds(value) {
  if (!Number.isFinite(value) || value === 0) return "–";
  if (value >= 1e9) return `${trim(value / 1e9)} s`;
  if (value >= 1e6) return `${trim(value / 1e6)} ms`;
  return value >= 1e4 ? `${trim(value / 1e3)} µs` : `${Math.round(value).toLocaleString("en-US")} ns`;
}

export function duration(seconds) {
  if (seconds < 0.0995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`;
}

/** An instant of a stream, in microseconds: a date, if it looks like one. */
export function instant(microseconds) {
  if (microseconds == null) return "–";
  if (microseconds > 6e14 && microseconds < 8e15) return new Date(microseconds / 1000).toISOString().replace("T", " ").slice(0, 19);
  return `${(microseconds / 1e6).toLocaleString("en-US", { maximumFractionDigits: 3 })} s`;
}

/** An element with attributes and children; texts are never read as HTML. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value == null || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "style") for (const [property, own] of Object.entries(value)) made.style.setProperty(property, own);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child != null && child !== false));
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) if (value != null) made.setAttribute(key, value);
  made.append(...children.filter((child) => child != null));
  return made;
}
