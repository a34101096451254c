// The plan as a graph. It is drawn once for a query; each frame only changes numbers, widths and colours.

import { count, element, exactly, percent, svg } from "penstock/format.js";
import { curve, HEIGHT, placed, TANK } from "penstock/layout.js";
import { MEASURES } from "penstock/model.js";

const LEAST = 0.15, MOST = 2.5;
/** Below this scale only titles can be read, so only they are shown, and larger. */
const FAR = 0.5, READABLE = 0.85;

export class PlanGraph {
  constructor(host, select) {
    this.host = host;
    this.select = select;
    this.canvas = svg("svg", { role: "group", "aria-label": "Operators of the plan" });
    this.layer = svg("g");
    this.canvas.append(this.layer);
    this.frame = svg("rect", { class: "frame" });
    this.overview = svg("svg", { class: "overview", "aria-hidden": "true" });
    host.append(this.canvas, this.overview);
    this.view = { x: 0, y: 0, scale: 1 };
    this.listen();
  }

  /** Draws the nodes of a part of a run. */
  draw(run, part) {
    this.part = part;
    this.run = run;
    const { places, lines, width, height, isDown } = placed(part, (node) => run.keeps(node), this.host.getBoundingClientRect());
    this.size = { width, height };
    this.isDown = isDown;
    this.layer.replaceChildren();
    this.edges = part.edges.map((edge, number) => this.edge(edge, lines[number]));
    this.nodes = new Map(part.nodes.map((node) => [node.id, this.node(node, places.get(node.id))]));
    this.layer.append(...this.edges.map(({ queue }) => queue));
    this.places = places;
    this.overview.replaceChildren(...part.nodes.map((node) => {
      const { x, y, width, height } = places.get(node.id);
      return svg("rect", { x: x - width / 2, y: y - height / 2, width, height, rx: 8, class: "spot" });
    }), this.frame);
    this.overview.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.begin();
  }

  /** All of a small plan; of a large one the part around what is selected, or where the time goes, in a readable size. */
  begin() {
    this.fit();
    if (this.view.scale >= FAR) return;
    const slowest = [...this.places.keys()].filter((id) => this.run.nodes.get(id)?.query).sort((a, b) => this.run.recent(b, "nanoseconds") - this.run.recent(a, "nanoseconds"))[0];
    const { x, y } = this.places.get(this.chosen ?? slowest) ?? { x: 0, y: 0 };
    this.view.scale = READABLE;
    this.centre(x, y);
  }

  centre(x, y) {
    const box = this.host.getBoundingClientRect();
    this.view.x = box.width / 2 - x * this.view.scale;
    this.view.y = box.height / 2 - y * this.view.scale;
    this.moved();
  }

  edge(edge, { points, x, y }) {
    const path = svg("path", { d: curve(points, this.isDown), class: `edge ${edge.kind}`, fill: "none" });
    const middle = x == null ? points[Math.floor(points.length / 2)] : { x, y };
    const text = svg("text", { x: 0, y: 3.5, "text-anchor": "middle" });
    const back = svg("rect", { rx: 8, height: 16, y: -8 });
    const queue = svg("g", { class: "queue", transform: `translate(${middle.x},${middle.y})`, visibility: "hidden" }, back, text);
    this.layer.append(path);
    return { edge, path, queue, text, back };
  }

  node(node, place) {
    const { run } = this;
    const left = place.x - place.width / 2, top = place.y - place.height / 2;
    const group = svg("g", {
      class: `node ${node.kind}`, transform: `translate(${left},${top})`, tabindex: 0, role: "button", "data-id": node.id,
    });
    const name = node.name && node.title !== node.name ? node.name : node.kind === "source" ? "stream" : node.kind === "result" ? node.detail : node.kind;
    const number = svg("text", { x: place.width - 10, y: 36, class: "number", "text-anchor": "end" });
    group.append(
      svg("rect", { class: "card", width: place.width, height: HEIGHT, rx: 7 }),
      svg("path", { class: "heat", d: `M7,0.5 H5 Q0.5,0.5 0.5,6 V${HEIGHT - 6} Q0.5,${HEIGHT - 0.5} 5,${HEIGHT - 0.5} H7 Z` }),
      clipped(svg("text", { x: 15, y: 19, class: "title" }), node.title, place.width - 24, 7),
      clipped(svg("text", { x: 15, y: 36, class: "name" }), name, place.width - 86, 6),
      number,
    );
    let tank = null;
    if (run.keeps(node)) tank = this.tank(node, place, group);
    const badge = svg("circle", { class: "badge", cx: place.width - 3, cy: 3, r: 5, visibility: "hidden" });
    group.append(badge);
    if (node.shared) group.append(svg("text", { class: "shared", x: place.width - 12, y: 19, "text-anchor": "end" }, "⧉"));
    group.addEventListener("click", (event) => { event.stopPropagation(); this.select(node.id); group.focus(); });
    group.addEventListener("keydown", (event) => this.key(event, node.id));
    this.layer.append(group);
    return { node, group, number, tank, badge };
  }

  /** The synopsis of an operator: how full it is, against what was proved. */
  tank(node, place, group) {
    const width = place.width - 20;
    const level = svg("rect", { class: "level", x: 10, y: HEIGHT + 3, height: TANK - 9, width: 0, rx: 4 });
    const text = svg("text", { class: "held", x: 17, y: HEIGHT + 15 });
    const own = svg("g", { class: "tank" },
      svg("path", { class: "hang", d: `M18,${HEIGHT} v3 M${place.width - 18},${HEIGHT} v3` }),
      svg("rect", { class: "vessel", x: 10, y: HEIGHT + 3, width, height: TANK - 9, rx: 4 }), level, text);
    if (this.run.bound(node) == null) own.classList.add("wordy");
    group.append(own);
    own.addEventListener("click", (event) => { event.stopPropagation(); this.select(node.id, "state"); });
    return { level, text, width, most: Math.floor((width - 12) / 6) };
  }

  /** Shows a moment. */
  update(run, at, by, selected, findings) {
    this.run = run;
    this.chosen = selected;
    const measure = MEASURES[by];
    const values = new Map([...this.nodes.keys()].map((id) => [id, measure.of(run, id, at)]));
    const most = Math.max(1e-9, ...values.values());
    const worry = new Map(findings.filter((each) => each.level !== "note").map((each) => [each.entity, each.level]));
    for (const [id, { node, group, number, tank, badge }] of this.nodes) {
      const value = node.kind === "result" ? Math.round(this.resultRate(id, at)) : values.get(id);
      group.style.setProperty("--heat", Math.sqrt(Math.max(0, value) / most).toFixed(3));
      group.classList.toggle("selected", id === selected);
      const shown = node.kind === "result" ? `${count(value)}/s` : this.shown(by, value, id, at);
      if (number.textContent !== shown) number.textContent = shown;
      badge.setAttribute("visibility", worry.has(id) ? "visible" : "hidden");
      badge.setAttribute("class", `badge ${worry.get(id) ?? ""}`);
      let said = `${node.title}, ${node.name ?? node.kind}, ${shown}`;
      if (tank) said += `, ${this.fill(node, tank, at)}`;
      group.setAttribute("aria-label", said);
    }
    const flows = this.edges.map(({ edge }) => measure === MEASURES.flow ? run.rate(edge.from, "rows_out", at) : values.get(edge.from) ?? 0);
    const widest = Math.max(1e-9, ...flows);
    this.edges.forEach(({ edge, path, queue, text, back }, place) => {
      path.style.setProperty("stroke-width", (1.25 + 6 * Math.sqrt(flows[place] / widest)).toFixed(2));
      path.classList.toggle("near", edge.from === selected || edge.to === selected);
      const waiting = edge.kind === "queue" || edge.kind === "exchange" ? run.value(edge.to, "in_flight_rows", at) : 0;
      queue.setAttribute("visibility", waiting > 0 ? "visible" : "hidden");
      if (waiting > 0) {
        text.textContent = `${count(waiting)} wait`;
        const wide = 12 + 6.2 * text.textContent.length;
        back.setAttribute("width", wide);
        back.setAttribute("x", -wide / 2);
      }
    });
    return { most, measure };
  }

  resultRate(id, at) {
    const edge = this.part.edges.find((each) => each.to === id);
    return edge ? this.run.rate(edge.from, "rows_out", at) : 0;
  }

  shown(by, value, id, at) {
    if (by === "time") return percent(value);
    if (by === "skew") return value > 0.005 ? `${(1 + value).toFixed(2)}×` : "even";
    if (by === "state") return value ? count(value) : "–";
    return `${count(value >= 10 ? Math.round(value) : value)}/s`;
  }

  fill(node, tank, at) {
    const rows = this.run.value(node.id, "state_rows", at), bound = this.run.bound(node);
    const part = bound ? Math.min(1, rows / bound) : rows / Math.max(1, this.run.peak(node.id, "state_rows"));
    tank.level.setAttribute("width", (tank.width * part).toFixed(1));
    const words = (node.bounds ?? []).map((each) => each.words).join(" + ");
    const said = bound != null ? `${count(rows)} of ≤ ${count(bound)}` : words ? `${count(rows)} ≤ ${words}` : `${count(rows)} rows`;
    tank.text.textContent = said.length > tank.most ? `${said.slice(0, tank.most - 1)}…` : said;
    return `keeps ${exactly(rows)} rows, proved: ${words || "nothing of its own"}`;
  }

  key(event, id) {
    const [back, forth] = this.isDown ? ["ArrowUp", "ArrowDown"] : ["ArrowLeft", "ArrowRight"];
    const [before, after] = this.isDown ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
    const [along, across] = this.isDown ? ["y", "x"] : ["x", "y"];
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); event.stopPropagation(); this.select(id); return; }
    const here = this.places.get(id);
    let next = null;
    if (event.key === back || event.key === forth) {
      const [own, other] = event.key === back ? ["to", "from"] : ["from", "to"];
      const far = (other) => Math.abs(this.places.get(other)[across] - here[across]);
      next = this.part.edges.filter((edge) => edge[own] === id).map((edge) => edge[other]).sort((a, b) => far(a) - far(b))[0];
    } else if (event.key === before || event.key === after) {
      const sign = event.key === after ? 1 : -1;
      const far = (place) => Math.hypot(3 * (place[along] - here[along]), place[across] - here[across]);
      next = [...this.places].filter(([, place]) => sign * (place[across] - here[across]) > 4).sort(([, a], [, b]) => far(a) - far(b))[0]?.[0];
    } else return;
    event.preventDefault();
    if (next) { this.nodes.get(next).group.focus(); this.select(next); this.reveal(next); }
  }

  /** Moves a node into sight. */
  reveal(id) {
    const place = this.places.get(id), box = this.host.getBoundingClientRect();
    if (!place) return;
    const x = place.x * this.view.scale + this.view.x, y = place.y * this.view.scale + this.view.y;
    if (x < 60 || x > box.width - 60) this.view.x += box.width / 2 - x;
    if (y < 40 || y > box.height - 40) this.view.y += box.height / 2 - y;
    this.moved();
  }

  fit() {
    const box = this.host.getBoundingClientRect();
    const scale = Math.min(1.1, Math.max(LEAST, Math.min(box.width / this.size.width, box.height / this.size.height)));
    this.view = { scale, x: (box.width - this.size.width * scale) / 2, y: (box.height - this.size.height * scale) / 2 };
    this.moved();
  }

  zoom(factor, x, y) {
    const box = this.host.getBoundingClientRect();
    const scale = Math.min(MOST, Math.max(LEAST, this.view.scale * factor));
    x ??= box.width / 2; y ??= box.height / 2;
    this.view.x = x - ((x - this.view.x) * scale) / this.view.scale;
    this.view.y = y - ((y - this.view.y) * scale) / this.view.scale;
    this.view.scale = scale;
    this.moved();
  }

  moved() {
    const { x, y, scale } = this.view;
    this.canvas.classList.toggle("far", scale < FAR);
    const box = this.host.getBoundingClientRect();
    const all = x >= -1 && y >= -1 && x + this.size.width * scale <= box.width + 1 && y + this.size.height * scale <= box.height + 1;
    this.overview.classList.toggle("needed", !all);
    for (const [name, value] of Object.entries({ x: -x / scale, y: -y / scale, width: box.width / scale, height: box.height / scale })) this.frame.setAttribute(name, value);
    this.layer.setAttribute("transform", `translate(${x.toFixed(1)},${y.toFixed(1)}) scale(${scale.toFixed(4)})`);
  }

  listen() {
    let from = null;
    this.canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const box = this.host.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY / 400), event.clientX - box.left, event.clientY - box.top);
    }, { passive: false });
    this.canvas.addEventListener("pointerdown", (event) => {
      if (event.target.closest(".node")) return;
      from = { x: event.clientX - this.view.x, y: event.clientY - this.view.y, moved: false };
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (!from) return;
      from.moved = true;
      this.view.x = event.clientX - from.x;
      this.view.y = event.clientY - from.y;
      this.moved();
    });
    this.canvas.addEventListener("pointerup", () => {
      if (from && !from.moved) this.select(null);
      from = null;
    });
    const look = (event) => {
      if (!event.buttons) return;
      const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.overview.getScreenCTM().inverse());
      this.centre(x, y);
    };
    this.overview.addEventListener("pointerdown", look);
    this.overview.addEventListener("pointermove", look);
    new ResizeObserver(() => this.size && this.begin()).observe(this.host);
  }
}

/** A text that fits a width, with all of it as a title. */
function clipped(text, content, width, each) {
  const most = Math.max(3, Math.floor(width / each));
  text.textContent = content.length > most ? `${content.slice(0, most - 1)}…` : content;
  if (content.length > most) text.append(svg("title", {}, content));
  return text;
}

export function legend(host, { most, measure }, by) {
  const end = by === "time" ? percent(most) : by === "skew" ? `${(1 + most).toFixed(1)}×` : count(most);
  host.replaceChildren(element("span", {}, by === "skew" ? "even" : "0"), element("i"), element("span", {}, end));
  host.title = measure.unit;
}
