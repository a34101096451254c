// What happened over time: graphs that the reader adds, decisions, lateness, cells, and what can be set.

import { chart, formatOf, lineColour, lines } from "penstock/chart.js";
import { count, duration, element, exactly, instant, nanoseconds, percent } from "penstock/format.js";
import { cacheText, graphQuery, queryGraph } from "penstock/model.js";

const TITLES = {
  rows_in: "rows in, per second", rows_out: "rows out, per second", nanoseconds: "part of one core", late_rows: "late rows, per second",
  bad_rows: "bad rows, per second", function_errors: "function errors, per second", probes: "probes, per second", matches: "matches, per second",
  state_rows: "rows kept", state_bytes: "bytes kept", in_flight_rows: "rows that wait", in_flight_bytes: "bytes that wait",
  violations: "rows rejected", timed_out_rows: "rows dropped at the timeout", disk_rows: "rows on disk", cache_lookups: "cache lookups, per second", cache_hits: "cache hits, per second", cache_bytes: "bytes of caches", skew: "busiest cell, × mean",
};
const REASONS = {
  start: "first choice", violation: "another order is better", drift: "rows pass at other rates", recalled: "rates are as before, and so is the order",
};

export class Drawer {
  constructor(host, tabs, actions) {
    Object.assign(this, { host, tabs, actions });
    this.editing = null;
  }

  panes(run) {
    const decisions = run.latest.decisions?.length ?? 0, settings = run.latest.settings?.length ?? 0;
    return [["graphs", "Graphs"], ["decisions", decisions ? `Decisions ${decisions}` : "Decisions"], ["lateness", "Lateness"], ["cells", "Cells"],
      ...(settings ? [["settings", "Settings"]] : [])];
  }

  show(run, at, view) {
    const panes = this.panes(run);
    if (!panes.some(([name]) => name === view.tab)) view.tab = "graphs";
    const signature = JSON.stringify([panes, view.tab]);
    if (signature !== this.signature) {
      this.signature = signature;
      const focused = this.tabs.contains(document.activeElement);
      this.tabs.replaceChildren(...panes.map(([name, title]) => element("button", {
        role: "tab", id: `tab-${name}`, "aria-selected": String(view.tab === name), "aria-controls": "panel", tabindex: view.tab === name ? 0 : -1,
        onclick: () => this.actions.tab(name), onkeydown: (event) => this.key(event, panes, name),
      }, title)));
      this.host.setAttribute("aria-labelledby", `tab-${view.tab}`);
      if (focused) this.tabs.querySelector("[aria-selected=true]").focus();
    }
    if (this.host.contains(document.activeElement) && /INPUT|TEXTAREA|SELECT/.test(document.activeElement.tagName)) return;
    const focused = this.host.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    const scroll = this.pane === view.tab ? this.host.scrollTop : 0;
    this.pane = view.tab;
    this[view.tab](run, at, view);
    this.host.scrollTop = scroll;
    if (focused) this.host.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  }

  key(event, panes, name) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const place = panes.findIndex(([other]) => other === name);
    this.actions.tab(panes[(place + step + panes.length) % panes.length][0]);
    this.tabs.querySelector("[aria-selected=true]")?.focus();
  }

  graphs(run, at, view) {
    const moment = view.at == null ? null : run.seconds(at);
    const shown = view.graphs.length ? view.graphs : this.suggested(run, view);
    const cards = shown.map((each, number) => {
      if (each.cql) return this.queryCard(run, view, each, number);
      if (!run.nodes.has(each.entity)) return this.missing(each, number);
      const node = run.nodes.get(each.entity);
      const place = element("div", { class: "plot" });
      const value = run.current(each.entity, each.property, at);
      const own = view.graphs.length > 0;
      const title = node?.name && !view.query ? `${node.query} ${node.name}` : node?.name ?? node?.title ?? each.entity;
      return [element("figure", {},
        element("figcaption", {},
          element("button", { class: "link", "data-key": `of ${number}`, onclick: () => this.actions.select(each.entity) }, title),
          element("span", { class: "quiet" }, TITLES[each.property] ?? each.property),
          element("span", { class: "gap" }), element("b", {}, formatOf(each.property)(value)),
          element("button", { class: "icon", title: "The query that this is", "aria-label": "The query that this is", "data-key": `cql ${number}`, onclick: () => this.edit(run, view, own ? number : null, each) }, "≡"),
          own ? element("button", { class: "icon", title: "Remove", "aria-label": `Remove the graph of ${node?.name ?? each.entity}`, "data-key": `rm ${number}`, onclick: () => this.actions.removeGraph(number) }, "×") : null),
        place), place, each];
    });
    const add = element("button", { class: "add-graph", "data-key": "add", onclick: () => this.edit(run, view, null, null) }, "+ Add a graph");
    this.host.replaceChildren(element("div", { class: "graphs" }, ...cards.map(([figure]) => figure), add));
    for (const [, place, each] of cards) {
      if (!each.cql && !run.nodes.has(each.entity)) continue;
      if (each.cql) {
        const said = run.latest.graphs?.find((other) => other.text === each.cql);
        if (said) lines(place, said, run.document.begun, { height: 118 });
        continue;
      }
      const node = run.nodes.get(each.entity);
      const bound = each.property === "state_rows" && node ? run.bound(node) : null;
      if (run.frames.length > 1) chart(place, run.series(each.entity, each.property), { property: each.property, bound, height: 150, moment });
    }
    if (this.editing) this.host.prepend(this.editing);
  }

  /** A graph that the address has of an entity that this run has not: it was of another plan. */
  missing(each, number) {
    return [element("figure", {},
      element("figcaption", {}, element("span", {}, each.entity), element("span", { class: "gap" }),
        element("button", { class: "icon", title: "Remove", "aria-label": `Remove the graph of ${each.entity}`, "data-key": `rm ${number}`, onclick: () => this.actions.removeGraph(number) }, "×")),
      empty("The plan of this run has no such operator.")), null, each];
  }

  /** A graph that is any query over sysstream, which the run steps. */
  queryCard(run, view, each, number) {
    const place = element("div", { class: "plot short" });
    const said = run.latest.graphs?.find((other) => other.text === each.cql);
    const note = said?.message ?? (said ? said.lines.length ? null : "nothing said yet" : run.live ? "asked…" : "the run was not asked this");
    const names = (said?.lines ?? []).filter((line) => line.name);
    return [element("figure", {},
      element("figcaption", {},
        element("span", { class: "cql", title: each.cql }, said?.drawn ?? "query"),
        element("span", { class: "quiet clip" }, each.cql.replace(/\s+/g, " ")),
        element("button", { class: "icon", title: "The query that this is", "aria-label": "The query that this is", "data-key": `cql ${number}`, onclick: () => this.edit(run, view, number, each) }, "≡"),
        element("button", { class: "icon", title: "Remove", "aria-label": "Remove the graph of a query", "data-key": `rm ${number}`, onclick: () => this.actions.removeGraph(number) }, "×")),
      place,
      element("div", { class: "names" }, note ? element("small", { class: "quiet" }, note) : null,
        ...names.map((line, place) => element("small", {}, element("i", { style: { background: lineColour(place) } }), line.name)))), place, each];
  }

  /** Until the reader adds graphs: what comes in, what is kept, and what comes out. */
  suggested(run, view) {
    const part = run.part(view.query).nodes;
    const most = (nodes, property) => nodes.map((node) => [run.peak(node.id, property), node]).sort((a, b) => b[0] - a[0])[0]?.[1];
    const source = most(part.filter((node) => node.kind === "source"), "rows_in");
    const keeper = most(part.filter((node) => node.query), "state_rows");
    const slow = most(part.filter((node) => node.query), "nanoseconds");
    return [[source, "rows_in"], [keeper, "state_rows"], [slow, "nanoseconds"]].filter(([node]) => node)
      .map(([node, property]) => ({ entity: node.id, property }));
  }

  /** A graph is a query over sysstream: it can be chosen, read, edited and copied. */
  edit(run, view, number, graph) {
    const part = run.part(view.query).nodes.filter((node) => node.kind !== "result" && node.kind !== "table");
    const first = graph?.entity ? graph : { entity: view.selected && run.nodes.get(view.selected)?.kind !== "result" ? view.selected : part[0].id, property: "rows_out" };
    const entity = element("select", { "aria-label": "Entity", "data-key": "entity" }, ...part.map((node) => element("option", { value: node.id, selected: node.id === first.entity }, node.query ? `${node.query} ${node.name}` : `stream ${node.title}`)));
    const property = element("select", { "aria-label": "Property", "data-key": "property" }, ...Object.entries(TITLES).map(([name, title]) => element("option", { value: name, selected: name === first.property }, title)));
    const text = element("textarea", { rows: 3, spellcheck: "false", "aria-label": "The query over sysstream", "data-key": "cql" });
    const note = element("small", { role: "status" });
    const rewrite = () => { text.value = graphQuery(run, { entity: entity.value, property: property.value }); };
    entity.addEventListener("change", rewrite);
    property.addEventListener("change", rewrite);
    rewrite();
    if (graph?.cql) text.value = graph.cql;
    const close = () => { this.editing = null; this.actions.refresh(); };
    const done = async () => {
      const cql = text.value.trim().replace(/;$/, "").trim();
      const made = queryGraph(run, cql) ?? { cql };
      if (made.cql) {
        note.textContent = "…";
        const refused = await this.actions.ask("add", made.cql);
        if (refused) { note.textContent = refused; return; }
      }
      this.editing = null;
      document.activeElement?.blur();
      this.actions.setGraph(number, made);
    };
    const copy = async () => { await navigator.clipboard?.writeText(text.value); note.textContent = "Copied."; };
    this.editing = element("form", { class: "editor", onsubmit: (event) => { event.preventDefault(); done(); }, onkeydown: (event) => { if (event.key === "Escape") { event.stopPropagation(); document.activeElement.blur(); close(); } } },
      element("div", {}, entity, property,
        element("button", { class: "primary", type: "submit" }, number == null ? "Add" : "Change"),
        element("button", { type: "button", onclick: copy }, "Copy"),
        element("button", { type: "button", onclick: close }, "Cancel")), text, note);
    this.actions.refresh();
    entity.focus();
  }

  decisions(run) {
    const all = [...(run.latest.decisions ?? [])].reverse();
    if (!all.length) { this.host.replaceChildren(empty("No order, cache or setting was changed so far.")); return; }
    const begun = run.document.begun;
    this.host.replaceChildren(element("ol", { class: "timeline" }, ...all.map((each) => element("li", {},
      element("time", {}, duration(Math.max(0, each.when - begun))),
      each.filters ? this.decision(each) : each.paths ? this.pathsDecision(each) : each.verdict ? this.cacheDecision(each) : each.plan ? element("div", {}, element("strong", {}, each.place), element("p", {}, each.plan)) : element("div", {}, element("strong", {}, `${each.name} set`), element("p", {}, `${each.before} → ${each.after}`))))));
  }

  decision(each) {
    const saved = each.rows * (each.as_written - each.cost);
    return element("div", {},
      element("strong", {}, element("button", { class: "link", "data-key": `d ${each.place} ${each.number}`, onclick: () => this.actions.select(each.entity) }, each.place), ` ${REASONS[each.reason] ?? each.reason}`),
      element("p", { class: "order" }, ...each.filters.flatMap((text, place) => [place ? element("span", { class: "quiet" }, " then ") : null,
        element("code", {}, text), element("small", {}, ` drops ${percent(each.drops[place])}, ${nanoseconds(each.nanoseconds[place])}`)])),
      element("p", { class: "quiet" }, `after ${exactly(each.at)} rows, on ${exactly(each.samples)} samples; used for ${exactly(each.rows)} rows at ${nanoseconds(each.cost)} each, as written ${nanoseconds(each.as_written)}, in the best single order ${nanoseconds(each.best_single)}: `,
        element("b", { class: saved >= 0 ? "gain" : "loss" }, saved ? `${nanoseconds(Math.abs(saved))} ${saved > 0 ? "saved" : "lost"}` : "no difference")));
  }

  pathsDecision(each) {
    const saved = each.rows * (each.as_written - each.cost), probes = (count) => `${count.toFixed(2)} probes`;
    return element("div", {},
      element("strong", {}, element("button", { class: "link", "data-key": `d ${each.place} ${each.number}`, onclick: () => this.actions.select(each.entity) }, each.place), ` ${REASONS[each.reason] ?? each.reason}`),
      ...each.paths.map(([start, ...others]) => element("p", { class: "order" }, element("code", {}, start), element("span", { class: "quiet" }, " probes "), element("code", {}, others.join(" → ")))),
      element("p", { class: "quiet" }, `after ${exactly(each.at)} events, on ${exactly(each.samples)} samples; used for ${exactly(each.rows)} events at ${probes(each.cost)} each, as written ${probes(each.as_written)}, along the best single paths ${probes(each.best_single)}: `,
        element("b", { class: saved >= 0 ? "gain" : "loss" }, saved ? `${exactly(Math.round(Math.abs(saved)))} probes ${saved > 0 ? "saved" : "lost"}` : "no difference")));
  }

  cacheDecision(each) {
    return element("div", {},
      element("strong", {}, element("button", { class: "link", "data-key": `c ${each.place} ${each.number}`, onclick: () => this.actions.select(each.entity) }, each.place), ` caches: ${each.verdict}`),
      element("p", { class: "order" }, ...(each.used.length ? each.used.map((cache) => element("code", {}, cacheText(cache))) : ["no cache from here on"])),
      ...each.estimates.map((cache) => element("p", { class: "quiet" }, `${cacheText(cache)}: misses ${percent(cache.miss)}; without it all probing, with it `,
        element("b", { class: cache.saves >= cache.costs ? "gain" : "loss" }, `${percent(1 - cache.saves + cache.costs)} of it`), ` (saves ${percent(cache.saves)}, costs ${percent(cache.costs)})`)),
      element("p", { class: "quiet" }, `after ${exactly(each.at)} rows that probed`));
  }

  lateness(run, at) {
    const sources = [...run.nodes.values()].filter((node) => node.kind === "source");
    const furthest = Math.max(...sources.map((node) => run.latest.newest?.[node.stream] ?? -Infinity));
    const streams = table(["stream", "rows", "late", "bad", "read up to", "behind the furthest"], sources.map((node) => [
      link(node.title, () => this.actions.select(node.id)), exactly(run.total(node.id, "rows_in", at)), lost(run.total(node.id, "late_rows", at)), lost(run.total(node.id, "bad_rows", at)),
      instant(run.latest.now[node.id]?.newest), run.latest.newest?.[node.stream] == null ? "–" : duration((furthest - run.latest.newest[node.stream]) / 1e6)]));
    const told = new Map(Object.values(run.latest.now).flatMap((each) => each.constraints ?? []).map((each) => [each.constraint, each]));
    const constraints = told.size ? table(["constraint", "estimated k", "used", "broken by rows", "results that may be missing"], [...told.values()].map((each) => [
      element("code", {}, each.constraint), each.k == null ? "–" : exactly(each.k), each.used ? "yes" : "no", lost(each.broken ?? each.violations), lost(Math.ceil(each.false_negatives))])) : null;
    const gone = [...run.nodes.values()].map((node) => [node, run.value(node.id, "violations", at), run.value(node.id, "timed_out_rows", at)]).filter(([, a, b]) => a || b);
    const dropped = gone.length ? table(["operator", "rejected after their punctuation", "dropped at the wait timeout"], gone.map(([node, a, b]) => [link(node.name, () => this.actions.select(node.id)), lost(a), lost(b)])) : null;
    this.host.replaceChildren(element("div", { class: "tables" }, streams, constraints, dropped));
  }

  cells(run) {
    const found = Object.entries(run.latest.cells ?? {}).filter(([id]) => run.nodes.has(id));
    if (!found.length) { this.host.replaceChildren(empty("Each operator runs in one cell. With --cells there are more, and here is how even they are.")); return; }
    this.host.replaceChildren(element("div", { class: "grid-cells" }, ...found.map(([id, cells]) => {
      const node = run.nodes.get(id), most = Math.max(1, ...cells.map(([, rows]) => rows));
      return element("div", { class: "cell-row" }, link(`${node.fragment}.${node.name}`, () => this.actions.select(id)),
        element("div", { class: "cell-bars" }, ...cells.map(([cell, rows, kept]) => element("i", {
          title: `cell ${cell}: ${exactly(rows)} rows, keeps ${exactly(kept)}`, style: { "--part": (rows / most).toFixed(3) } }))),
        element("span", { class: "quiet" }, `${count(Math.max(...cells.map(([, rows]) => rows)))} most, ${count(Math.min(...cells.map(([, rows]) => rows)))} least`));
    })));
  }

  settings(run) {
    const rows = (run.latest.settings ?? []).map((each) => {
      const note = element("small", { role: "status" });
      const choices = /^[\w -]+( \| [\w -]+)+$/.test(each.type) && !/[A-Z]/.test(each.type) ? each.type.split(" | ") : null;
      const field = choices
        ? element("select", { "aria-label": each.name }, ...choices.map((choice) => element("option", { value: choice, selected: choice === each.value }, choice)))
        : element("input", { value: each.value, "aria-label": each.name, spellcheck: "false" });
      const send = async () => { note.textContent = "…"; note.textContent = await this.actions.set(each.name, field.value); field.blur(); };
      return element("form", { class: "setting", onsubmit: (event) => { event.preventDefault(); send(); } },
        element("label", {}, element("b", {}, each.name), element("small", {}, each.help)), field,
        element("button", { type: "submit", "data-key": `set ${each.name}` }, "Set"), note, element("small", { class: "type" }, choices ? "" : each.type));
    });
    this.host.replaceChildren(element("div", { class: "settings" }, ...rows));
  }
}

const empty = (text) => element("p", { class: "empty" }, text);
const link = (text, go) => element("button", { class: "link", "data-key": `link ${text}`, onclick: go }, text);
const lost = (value) => element("span", { class: value ? "loss" : "quiet" }, exactly(value));

function table(head, rows) {
  return element("table", { class: "wide" }, element("thead", {}, element("tr", {}, ...head.map((text) => element("th", { scope: "col" }, text)))),
    element("tbody", {}, ...rows.map((cells) => element("tr", {}, ...cells.map((cell) => element("td", {}, cell))))));
}
