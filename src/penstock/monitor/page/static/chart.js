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
    padding: small ? [4, 2, 2, 2] : [8, 18, 0, 0],
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

/** A graph of what a query said: a line for each name. Colours come from one scale, so that they can be told apart. */
export function lines(host, graph, begun, { height = 150 }) {
  const quiet = colour("--quiet"), grid = colour("--line");
  const axis = { stroke: quiet, grid: { stroke: grid, width: 1 }, ticks: { show: false }, font: "11px system-ui", gap: 4 };
  if (!graph.lines.length) return null;
  const data = uPlot.join(graph.lines.map((each) => [each.points.map(([at]) => at - begun), each.points.map(([, value]) => value)]));
  return new uPlot({
    width: Math.max(120, host.clientWidth), height,
    legend: { show: false },
    cursor: { y: false, points: { size: 6 } },
    padding: [8, 18, 0, 0],
    scales: { x: { time: false }, y: { range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.08 : 1] } },
    axes: [
      { ...axis, size: 24, space: 70, values: (_, ticks, axis, space, step) => ticks.map((tick) => relative(tick, step)) },
      { ...axis, size: 52, space: 26, values: (_, ticks) => ticks.map((tick) => count(tick)) },
    ],
    series: [{}, ...graph.lines.map((each, number) => ({ stroke: lineColour(number), width: 1.5, spanGaps: true, points: { show: each.points.length < 3 } }))],
  }, data, host);
}

/** The colour of a line of a query: the accent first, and then hues far from each other. */
export function lineColour(number) {
  const dark = colour("--is-dark") === "1";
  return number ? `hsl(${(190 + number * 137) % 360} 60% ${dark ? 68 : 38}%)` : colour("--accent");
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
