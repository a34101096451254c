// The page: it reads the document of a run, follows what is new, and shows what the address says.

import { Drawer } from "penstock/drawer.js";
import { bytes, count, duration, element, exactly, instant } from "penstock/format.js";
import { legend, PlanGraph } from "penstock/graph.js";
import { Inspector } from "penstock/inspector.js";
import { MEASURES, Run, View } from "penstock/model.js";
import { showSql } from "penstock/sql.js";

const find = (id) => document.getElementById(id);
const KEYS = [
  ["Tab, arrow keys", "go from operator to operator"], ["Enter", "select"], ["Esc", "back to the query"], ["1 2 3 4", "colour by flow, state, time, skew"],
  ["g", "add a graph"], ["space", "replay"], [", .", "a moment back, forward"], ["+ − 0", "larger, smaller, fit"], ["t", "light or dark"], ["?", "this list"],
];

class Page {
  constructor(run, held) {
    this.run = run;
    this.held = held;
    this.view = new View();
    if (run.queries.length > 1 && !run.queries.some((each) => each.name === this.view.query)) this.view.query = null;
    if (run.queries.length === 1) this.view.query = run.queries[0].name;
    const actions = {
      select: (id) => this.select(id), tab: (name) => this.change({ tab: name }), refresh: () => this.refresh(),
      addGraph: (graph) => this.addGraph(graph),
      setGraph: (number, graph) => this.change({ graphs: number == null ? [...this.view.graphs, graph] : this.view.graphs.with(number, graph) }),
      removeGraph: (number) => { const { cql } = this.view.graphs[number]; if (cql) this.ask("remove", cql); this.change({ graphs: this.view.graphs.toSpliced(number, 1) }); },
      ask: (what, text) => this.ask(what, text),
      set: (name, value) => this.set(name, value),
    };
    this.graph = new PlanGraph(find("graph"), (id, section) => this.select(id, section));
    this.inspector = new Inspector(find("inspector"), actions);
    this.drawer = new Drawer(find("panel"), find("tabs"), actions);
    this.head();
    this.listen();
    this.redraw();
  }

  get at() {
    return this.view.at == null ? this.run.last : Math.min(this.view.at, this.run.last);
  }

  head() {
    const { document: shown } = this.run;
    find("title").textContent = shown.title;
    document.title = `${shown.title} · Penstock`;
    const names = this.run.queries.map((each) => each.name);
    find("query-pick").hidden = names.length < 2;
    find("query").replaceChildren(element("option", { value: "" }, `all ${names.length}`), ...names.map((name) => element("option", { value: name, selected: name === this.view.query }, name)));
    find("by").replaceChildren(...Object.entries(MEASURES).map(([name, { title }], number) => element("button", {
      role: "radio", id: `by-${name}`, title: `Widths and colours by ${title.toLowerCase()} (${number + 1})`, onclick: () => this.change({ by: name }) }, title)));
    find("keys").replaceChildren(element("h2", {}, "Keys"), element("dl", {}, ...KEYS.flatMap(([key, does]) => [element("dt", {}, key), element("dd", {}, does)])),
      element("form", { method: "dialog" }, element("button", {}, "Close")));
  }

  listen() {
    find("query").addEventListener("change", (event) => { this.view.query = event.target.value || null; this.view.selected = null; this.redraw(); this.view.save(); });
    find("theme").addEventListener("click", () => this.theme());
    find("help").addEventListener("click", () => find("keys").showModal());
    find("fit").addEventListener("click", () => this.graph.fit());
    find("in").addEventListener("click", () => this.graph.zoom(1.25));
    find("out").addEventListener("click", () => this.graph.zoom(0.8));
    find("play").addEventListener("click", () => this.play());
    find("when").addEventListener("input", (event) => this.moment(Number(event.target.value)));
    document.addEventListener("keydown", (event) => this.key(event));
    addEventListener("hashchange", () => { this.view = new View(); this.redraw(); this.askAll(); });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.refresh());
    let later = 0;
    addEventListener("resize", () => { clearTimeout(later); later = setTimeout(() => this.refresh(), 120); });
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || /INPUT|TEXTAREA|SELECT/.test(event.target.tagName) || find("keys").open) return;
    const measures = Object.keys(MEASURES);
    if (event.key === "Escape") this.select(null);
    else if (measures[event.key - 1]) this.change({ by: measures[event.key - 1] });
    else if (event.key === "t") this.theme();
    else if (event.key === "?") find("keys").showModal();
    else if (event.key === "g") { event.preventDefault(); this.change({ tab: "graphs" }); this.drawer.edit(this.run, this.view, null, null); }
    else if (event.key === " " && event.target.tagName !== "BUTTON") { event.preventDefault(); this.play(); }
    else if (event.key === "+" || event.key === "=") this.graph.zoom(1.25);
    else if (event.key === "-") this.graph.zoom(0.8);
    else if (event.key === "0") this.graph.fit();
    else if (event.key === ",") this.moment(this.at - 1);
    else if (event.key === ".") this.moment(this.at + 1);
  }

  theme() {
    const dark = getComputedStyle(document.documentElement).getPropertyValue("--is-dark").trim() === "1";
    this.change({ theme: dark ? "light" : "dark" });
  }

  select(id, section = null) {
    this.change({ selected: id, section });
  }

  moment(at) {
    const place = Math.max(0, Math.min(at, this.run.last));
    this.change({ at: place === this.run.last ? null : place });
  }

  play() {
    if (this.playing) { clearInterval(this.playing); this.playing = null; this.refresh(); return; }
    if (this.at === this.run.last) this.view.at = 0;
    const step = Math.max(1, Math.ceil(this.run.frames.length / 160));
    this.playing = setInterval(() => {
      const next = this.at + step;
      if (next >= this.run.last) { clearInterval(this.playing); this.playing = null; }
      this.moment(next);
    }, 100);
    this.refresh();
  }

  change(changes) {
    Object.assign(this.view, changes);
    this.view.save();
    this.refresh();
  }

  /** Draws the graph anew, for another query or another run. */
  redraw() {
    if (this.view.selected && !this.run.nodes.has(this.view.selected)) this.view.selected = null;
    this.kept = this.run.document.nodes.filter((node) => this.run.keeps(node)).length;
    this.graph.chosen = this.view.selected;
    this.graph.draw(this.run, this.run.part(this.view.query));
    this.refresh();
    if (this.view.selected) this.graph.reveal(this.view.selected);
  }

  refresh() {
    const { run, view, at } = this;
    if (view.theme) document.documentElement.dataset.theme = view.theme;
    else delete document.documentElement.dataset.theme;
    for (const name of Object.keys(MEASURES)) find(`by-${name}`).setAttribute("aria-checked", String(view.by === name));
    const scale = this.graph.update(run, at, view.by, view.selected, run.latest.findings ?? []);
    legend(find("legend"), scale, view.by);
    const text = JSON.stringify([view.query, view.selected, view.theme]);
    if (text !== this.text) { this.text = text; showSql(find("sql"), run, view.query, view.selected); }
    this.inspector.show(run, at, view);
    this.drawer.show(run, at, view);
    this.numbers();
  }

  numbers() {
    const { run, view, at } = this, totals = run.totals(view.query, at);
    const queries = run.queries.filter((each) => !view.query || each.name === view.query);
    const safe = queries.every((each) => each.safe);
    find("verdict").textContent = safe ? "bounded" : "not bounded";
    find("verdict").className = `chip ${safe ? "safe" : "unsafe"}`;
    find("verdict").title = queries.map((each) => each.message).join("\n");
    const facts = [
      ["rows in", `${count(Math.round(totals.rate))}/s`, `${exactly(totals.rows)} so far`],
      ["kept", bytes(totals.stateBytes), `${exactly(totals.stateRows)} rows`],
      ["waiting", count(totals.waiting), "rows whose instant is not closed"],
      ["late", count(totals.late), "rows that were dropped"],
      ["watermark", instant(totals.watermark), "the first instant that is not closed"],
    ];
    find("totals").replaceChildren(...facts.map(([name, value, title]) => element("div", { title }, element("dt", {}, name), element("dd", {}, value))));
    const over = this.held ? "report" : this.lost ? "no connection" : run.live ? "live" : "run is over";
    find("status").textContent = over;
    find("status").className = `status ${this.lost ? "lost" : run.live && !this.held ? "live" : ""}`;
    const frame = run.frames[at];
    find("query").value = view.query ?? "";
    find("when").max = Math.max(0, run.last);
    find("when").value = at;
    find("play").textContent = this.playing ? "❚❚" : "▶";
    find("moment").textContent = frame ? `${duration(frame.at - run.document.begun)}${view.at == null && run.live && !this.held ? "" : ` of ${duration(run.frames.at(-1).at - run.document.begun)}`}` : "waiting for the first step";
  }

  take(news) {
    this.run.add(news);
    const kept = this.run.document.nodes.filter((node) => this.run.keeps(node)).length;
    if (kept !== this.kept) this.redraw();
    else this.refresh();
  }

  /** Adds a graph; where it is a query over sysstream, once the run steps it. */
  async addGraph(graph) {
    if (graph.cql) await this.ask("add", graph.cql);
    this.change({ graphs: [...this.view.graphs, graph], tab: "graphs" });
  }

  /** Adds a query over sysstream to those that the run steps, or removes it; returns why not. */
  async ask(what, text) {
    if (this.held || !this.run.live) return "the run is over: there is nothing to ask it";
    const answer = await fetch("./graphs", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ do: what, text }) });
    return answer.ok ? null : (await answer.text()).trim();
  }

  /** Asks the queries of the address, which the run may not have yet. */
  async askAll() {
    for (const { cql } of this.view.graphs) if (cql && this.run.live && !this.held) await this.ask("add", cql);
  }

  async set(name, value) {
    const answer = await fetch("./settings", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ name, value }) });
    if (!answer.ok) return (await answer.text()).trim();
    this.run.latest.settings = (await answer.json()).settings;
    return "set from the next step on, until this run ends";
  }
}

function follow(page) {
  const { epoch, run } = page.run.document;
  const events = new EventSource(`./events?run=${run}&epoch=${epoch}&frames=${page.run.frames.length}`);
  events.onmessage = (event) => { page.lost = false; page.take(JSON.parse(event.data)); };
  events.addEventListener("over", () => events.close());
  events.addEventListener("anew", async () => { events.close(); await renew(page); });
  events.onerror = () => {
    events.close();
    page.lost = true;
    page.numbers();
    setTimeout(() => renew(page).catch(() => events.onerror()), 3000);
  };
}

async function renew(page) {
  const document = await (await fetch("./document")).json();
  page.lost = false;
  page.run.take(document);
  page.view.at = null;
  page.head();
  page.redraw();
  if (document.live) follow(page);
}

async function begin() {
  const held = document.getElementById("document");
  const found = held ? JSON.parse(held.textContent) : await (await fetch("./document")).json();
  const page = new Page(new Run(found), Boolean(held));
  if (!held && found.live) { follow(page); page.askAll(); }
  document.documentElement.dataset.ready = "yes";
}

begin();
