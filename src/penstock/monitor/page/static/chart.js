// Graphs over time.

import { bytes, count, percent } from "penstock/format.js";

/* global uPlot */

const FORMATS = { state_bytes: bytes, in_flight_bytes: bytes, cache_bytes: bytes, nanoseconds: percent, skew: (value) => `${value.toFixed(2)}×` };
export const formatOf = (property) => FORMATS[property] ?? count;

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** A graph of one property. `data` are times and values, and a bound if there is one. */
export function chart(host, [times, values], { property, bound = null, height = 120, moment = null, small = false }) {
  const format = formatOf(property);
  const line = colour("--accent"), quiet = colour("--quiet"), grid = colour("--line");
  const data = bound == null ? [times, values] : [times, values, times.map(() => bound)];
  const axis = { stroke: quiet, grid: { stroke: grid, width: 1 }, ticks: { show: false }, font: "11px system-ui", gap: 4 };
  const made = new uPlot({
    width: Math.max(120, host.clientWidth), height,
    legend: { show: false },
    cursor: { show: !small, y: false, points: { size: 6 } },
    padding: small ? [4, 2, 2, 2] : [8, 8, 0, 0],
    scales: { x: { time: false }, y: { range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.08 : 1] } },
    axes: small ? [{ show: false }, { show: false }] : [
      { ...axis, size: 24, space: 70, values: (_, ticks, axis, space, step) => ticks.map((tick) => relative(tick, step)) },
      { ...axis, size: 52, space: 26, values: (_, ticks) => ticks.map((tick) => format(tick)) },
    ],
    series: [
      {},
      { stroke: line, width: 1.5, fill: `color-mix(in srgb, ${line} 12%, transparent)`, points: { show: false } },
      ...(bound == null ? [] : [{ stroke: colour("--bound"), width: 1.5, dash: [5, 4], points: { show: false } }]),
    ],
    hooks: { draw: [(plot) => moment != null && mark(plot, moment, quiet)] },
  }, data, host);
  return made;
}

function mark(plot, at, stroke) {
  const x = plot.valToPos(at, "x", true), { top, height } = plot.bbox;
  plot.ctx.save();
  plot.ctx.strokeStyle = stroke;
  plot.ctx.beginPath();
  plot.ctx.moveTo(x, top);
  plot.ctx.lineTo(x, top + height);
  plot.ctx.stroke();
  plot.ctx.restore();
}

function relative(seconds, step) {
  if (seconds < 60) return `${Number(seconds.toFixed(step < 0.1 ? 2 : step < 1 ? 1 : 0))} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes}:${String(Math.round(seconds % 60)).padStart(2, "0")}` : `${Math.floor(minutes / 60)} h ${minutes % 60}`;
}
