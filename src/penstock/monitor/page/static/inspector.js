// What is known of the selected entity; of the whole query, where none is.

import { chart } from "penstock/chart.js";
import { bytes, count, duration, element, exactly, instant, nanoseconds, percent } from "penstock/format.js";
import { cacheText, pathsOf, waitingGraph } from "penstock/model.js";

export class Inspector {
  constructor(host, actions) {
    this.host = host;
    this.actions = actions;
    this.shown = undefined;
    this.open = new Set();
  }

  show(run, at, view) {
    const node = view.selected ? run.nodes.get(view.selected) : null;
    const scroll = this.shown === view.selected ? this.host.scrollTop : 0;
    const focused = this.host.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    this.shown = view.selected;
    this.run = run;
    this.at = at;
    this.host.replaceChildren(...(node ? this.entity(node) : this.overview(view.query)).filter(Boolean));
    this.host.scrollTop = scroll;
    if (view.section) this.host.querySelector(`.${view.section}`)?.scrollIntoView({ block: "start" });
    view.section = null;
    for (const place of this.host.querySelectorAll("[data-spark]")) this.spark(place);
    if (focused) this.host.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  }

  spark(place) {
    const property = place.dataset.spark, node = this.run.nodes.get(this.shown);
    const bound = property === "state_rows" && node ? this.run.bound(node) : null;
    if (this.run.frames.length > 1) chart(place, this.run.series(this.shown, property), { property, bound, height: 46, small: true });
  }

  overview(query) {
    const { run } = this;
    const own = run.queries.filter((each) => !query || each.name === query);
    return [
      element("h2", {}, query ?? run.document.title),
      ...own.map((each) => element("div", { class: "block" },
        own.length > 1 ? element("h3", {}, each.name) : null,
        this.verdict(each),
        ...each.warnings.map((warning) => element("p", { class: "warning" }, warning)),
        ...each.left_out.map((text) => element("p", { class: "quiet" }, text)))),
      this.findings(query),
      this.slowest(query),
      element("p", { class: "hint" }, "Choose a node of the graph, or press Tab and the arrow keys."),
    ];
  }

  verdict(query) {
    const text = sentence(query.message), shown = query.safe ? "safe" : "unsafe";
    if (text.length < 240) return element("p", { class: shown }, text);
    return this.folded(`verdict ${query.name}`, element("span", { class: shown }, `${text.slice(0, text.lastIndexOf(" ", 140))} …`), element("p", { class: "quiet" }, text));
  }

  findings(query) {
    const mine = (each) => !query || !this.run.nodes.get(each.entity)?.query || this.run.nodes.get(each.entity).query === query;
    const found = (this.run.latest.findings ?? []).filter(mine);
    if (!found.length) return element("p", { class: "calm" }, "Nothing lags, grows or is lost.");
    return section("Worth a look", element("ul", { class: "findings" }, ...found.map((each) =>
      element("li", { class: each.level }, element("button", { class: "link", "data-key": `find ${each.entity} ${each.what}`,
        onclick: () => this.actions.select(each.entity) }, each.what), element("small", {}, each.why)))));
  }

  slowest(query) {
    const shares = [...this.run.nodes.values()].filter((node) => !query || !node.query || node.query === query)
      .map((node) => [node, this.run.share(node.id, this.at)]).filter(([, share]) => share > 0.001)
      .sort((a, b) => b[1] - a[1]).slice(0, 6);
    if (!shares.length) return null;
    return section("Where the time goes", element("table", { class: "bars" }, element("tbody", {}, ...shares.map(([node, share]) =>
      element("tr", {}, element("th", { scope: "row" }, element("button", { class: "link", "data-key": `slow ${node.id}`,
        onclick: () => this.actions.select(node.id) }, node.name ?? node.title)), bar(share), element("td", {}, percent(share)))))));
  }

  entity(node) {
    const head = element("header", {},
      element("button", { class: "icon close", title: "Back to the query (Esc)", "aria-label": "Back to the query", "data-key": "close",
        onclick: () => this.actions.select(null) }, "×"),
      element("h2", {}, node.title, " ", element("span", { class: "quiet" }, node.name && node.name !== node.title ? node.name : node.kind)),
      node.query ? element("p", { class: "quiet" }, `${node.query}, fragment ${node.fragment}`, node.cells > 1 ? `, ${node.cells} cells` : "") : null);
    const found = (this.run.latest.findings ?? []).filter((each) => each.entity === node.id);
    const noted = found.length ? element("ul", { class: "findings" }, ...found.map((each) =>
      element("li", { class: each.level }, element("strong", {}, each.what), element("small", {}, each.why)))) : null;
    const parts = node.kind === "source" ? this.source(node) : node.kind === "table" || node.kind === "result" ? this.plain(node) : this.operator(node);
    return [head, noted, ...parts];
  }

  source(node) {
    const { run, at } = this, now = run.latest.now[node.id] ?? {};
    const delay = node.delay ?? 0, rows = run.total(node.id, "rows_in", at);
    const mark = now.watermark ?? null;
    return [
      this.facts(node, [
        ["rows in", `${count(Math.round(run.rate(node.id, "rows_in", at)))}/s`, "rows_in"],
        ["rows so far", exactly(rows), null],
        ["late, dropped", exactly(run.total(node.id, "late_rows", at)), "late_rows"],
        ["bad, dropped", exactly(run.total(node.id, "bad_rows", at)), "bad_rows"],
        ["time a row", nanoseconds(run.recent(node.id, "nanoseconds", at) / run.recent(node.id, "rows_in", at)), "nanoseconds"],
        ["read up to", instant(now.newest), null],
        ["rows may be late by", delay ? duration(delay / 1e6) : "nothing", null],
        ["ahead of the watermark", now.newest == null || mark == null ? "–" : duration(Math.max(0, now.newest - mark) / 1e6), null],
      ]),
      element("div", { class: "spark", "data-spark": "rows_in" }),
      this.filters(node, now),
      this.constraints(node.stream),
    ];
  }

  plain(node) {
    return [element("p", { class: "quiet" }, node.kind === "result" ? node.detail === "changes" ? "The result, as a log of changes." : `The result, as ${node.detail}.` : "A table, read once.")];
  }

  operator(node) {
    const { run, at } = this, now = run.latest.now[node.id] ?? {};
    const rowsIn = run.recent(node.id, "rows_in", at), rowsOut = run.recent(node.id, "rows_out", at);
    const waiting = run.value(node.id, "in_flight_rows", at), errors = run.total(node.id, "function_errors", at);
    return [
      this.facts(node, [
        ["rows in", `${count(Math.round(run.rate(node.id, "rows_in", at)))}/s`, "rows_in"],
        ["rows out", `${count(Math.round(run.rate(node.id, "rows_out", at)))}/s`, "rows_out"],
        ["out for each in", rowsIn ? count(rowsOut / rowsIn) : "–", null],
        ["part of the time", percent(run.share(node.id, at)), "nanoseconds"],
        ["time a row", nanoseconds(run.recent(node.id, "nanoseconds", at) / rowsIn), null],
        waiting || node.kind === "scan" || node.kind === "received" ? ["rows that wait", exactly(waiting), "in_flight_rows"] : null,
        errors ? ["function errors", exactly(errors), "function_errors"] : null,
        node.cells > 1 ? ["busiest cell", `${run.value(node.id, "skew", at).toFixed(2)}× mean`, "skew"] : null,
      ].filter(Boolean)),
      element("div", { class: "spark", "data-spark": "rows_out" }),
      this.synopsis(node),
      this.waiting(node, now),
      this.probes(node, now),
      this.caches(node),
      this.filters(node, now),
      this.constraints(null, now.constraints),
      this.indexes(now),
      this.cells(node),
      this.detail(node),
    ];
  }

  facts(node, rows) {
    return element("dl", { class: "facts" }, ...rows.map(([name, value, property]) => element("div", {},
      element("dt", {}, name), element("dd", {}, value, property ? this.adder(node, property, name) : null))));
  }

  adder(node, property, name) {
    return element("button", { class: "add", title: `Graph of ${name}`, "aria-label": `Graph of ${name}`, "data-key": `add ${property}`,
      onclick: () => this.actions.addGraph({ entity: node.id, property }) }, "+");
  }

  /** What is kept, beside what was proved before the query ran. */
  synopsis(node) {
    const { run, at } = this;
    if (!run.keeps(node)) return null;
    const rows = run.value(node.id, "state_rows", at), size = run.value(node.id, "state_bytes", at);
    const bound = run.bound(node), peak = run.peak(node.id, "state_rows"), disk = run.value(node.id, "disk_rows", at);
    const bounds = node.bounds ?? [];
    const words = bounds.map((each) => each.words).join(" + ");
    const lost = [["rejected after their punctuation", "violations"], ["dropped at the wait timeout", "timed_out_rows"]]
      .map(([text, property]) => [text, run.value(node.id, property, at)]).filter(([, value]) => value);
    return section("What it keeps",
      element("a", { class: "state" }),
      element("div", { class: "against" },
        element("div", {}, element("b", {}, exactly(rows)), element("span", {}, `rows, ${bytes(size)}`), this.adder(node, "state_rows", "what it keeps")),
        element("div", { class: "proved" }, element("b", {}, bound != null ? `≤ ${exactly(bound)}` : bounds.length ? "≤" : "–"),
          element("span", {}, bounds.length ? words : "no bound of its own"))),
      bound ? element("div", { class: "gauge", role: "meter", "aria-valuemin": 0, "aria-valuemax": bound, "aria-valuenow": Math.min(rows, bound), "aria-label": "of the proven bound" },
        element("i", { style: { width: percent(Math.min(1, rows / bound)) } }),
        element("u", { title: "the most so far", style: { left: percent(Math.min(1, peak / bound)) } })) : null,
      element("div", { class: "spark", "data-spark": "state_rows" }),
      element("p", { class: "quiet" }, `${exactly(peak)} rows at most so far`, disk ? `, ${exactly(disk)} on disk` : "",
        ...lost.map(([text, value]) => `, ${exactly(value)} ${text}`)),
      bounds.length ? null : element("p", { class: "quiet" }, "Clocks, keys and pending rows by which it decides what its inputs may forget."),
      ...bounds.map((each, number) => this.folded(`proof ${node.id} ${number}`, `Proof: ${each.words}`,
        element("pre", { class: "proof" }, each.proof.join("\n")),
        each.copies > 1 ? element("p", { class: "quiet" }, `Counted in ${each.copies} cells.`) : null)),
      node.shared ? element("p", { class: "quiet" }, "Kept once, also for ", node.shared.join(", "), ".") : null);
  }

  folded(key, title, ...content) {
    return element("details", { open: this.open.has(key), ontoggle: (event) => (event.target.open ? this.open.add(key) : this.open.delete(key)) },
      element("summary", { "data-key": key }, title), ...content);
  }

  /** The pending rows of a join, by what they wait for. */
  waiting(node, now) {
    if (!now.waiting?.length) return null;
    const most = Math.max(1, ...now.waiting.map((each) => each.rows));
    const sum = now.waiting.reduce((total, each) => total + each.rows, 0);
    return section("Pending rows, by what they wait for",
      element("p", {}, `${exactly(sum)} rows`, this.run.live ? element("button", { class: "add", title: "Graph of pending rows", "aria-label": "Graph of pending rows",
        "data-key": "add waiting", onclick: () => this.actions.addGraph(waitingGraph(node)) }, "+") : null),
      element("ul", { class: "filters" }, ...now.waiting.map((each) => element("li", {},
        element("code", {}, each.input), ` until ${each.waits_for}`,
        element("div", { class: "gauge thin" }, element("i", { style: { width: percent(each.rows / most) } })),
        element("small", {}, `${exactly(each.rows)} rows`)))));
  }

  probes(node, now) {
    if (!now.probes || !node.paths) return null;
    const rows = pathsOf(this.run, node).flatMap((path, input) => path.targets.map((target, depth) => {
      const probes = now.probes[input]?.[depth] ?? 0, matches = now.matches?.[input]?.[depth] ?? 0;
      return element("tr", {}, element("td", {}, depth ? "" : path.input), element("td", {}, `→ ${target}`),
        element("td", { class: "number" }, count(probes)), element("td", { class: "number" }, probes ? count(matches / probes) : "–"));
    }));
    return section("Probes by depth, along the paths of now", element("table", { class: "plain" },
      element("thead", {}, element("tr", {}, ...["rows of", "probe", "probes", "matches each"].map((text, place) => element("th", { scope: "col", class: place > 1 ? "number" : null }, text)))),
      element("tbody", {}, ...rows)));
  }

  /** The caches of a join: how often they are hit, and what those that were considered save and cost. */
  caches(node) {
    const { run, at } = this;
    const decided = (run.latest.decisions ?? []).filter((each) => each.verdict && each.entity === node.id).at(-1);
    const lookups = run.recent(node.id, "cache_lookups", at), size = run.value(node.id, "cache_bytes", at);
    if (!decided && !lookups && !size) return null;
    const used = new Set((decided?.used ?? []).map(cacheText));
    return section("Caches",
      element("p", {}, lookups ? `${percent(run.recent(node.id, "cache_hits", at) / lookups)} of ${count(lookups)} lookups hit, ${bytes(size)}` : "none in use",
        this.adder(node, "cache_hits", "cache hits")),
      decided?.estimates.length ? element("table", { class: "plain" },
        element("thead", {}, element("tr", {}, ...["cache", "misses", "saves", "costs"].map((text, place) => element("th", { scope: "col", class: place ? "number" : null }, text)))),
        element("tbody", {}, ...decided.estimates.map((each) => element("tr", {},
          element("td", {}, cacheText(each), used.has(cacheText(each)) ? "" : element("small", { class: "quiet" }, " (not used)")),
          ...["miss", "saves", "costs"].map((name) => element("td", { class: "number" }, percent(each[name]))))))) : null,
      decided ? element("p", { class: "quiet" }, `Decided after ${exactly(decided.at)} rows: ${decided.verdict}. Saved and spent are parts of all probing.`) : null);
  }

  filters(node, now) {
    if (!now.filters?.length) return null;
    const decided = (this.run.latest.decisions ?? []).filter((each) => each.filters && each.entity === node.id).at(-1);
    const most = Math.max(1, ...now.filters.map(([, evaluated]) => evaluated));
    return section("Filters, in their order now", element("ol", { class: "filters" }, ...now.filters.map(([text, evaluated]) => {
      const place = decided?.filters.indexOf(text) ?? -1;
      const measured = place >= 0 ? `drops ${percent(decided.drops[place])}, ${nanoseconds(decided.nanoseconds[place])} a row` : "not profiled";
      return element("li", {}, element("code", {}, text), element("div", { class: "gauge thin" }, element("i", { style: { width: percent(evaluated / most) } })),
        element("small", {}, `${count(evaluated)} rows evaluated, ${measured}`));
    })));
  }

  constraints(stream, own) {
    const all = own ?? Object.values(this.run.latest.now).flatMap((each) => each.constraints ?? [])
      .filter((each) => each.constraint.startsWith(`${stream}:`));
    const found = [...new Map(all.map((each) => [each.constraint, each])).values()];
    if (!found.length) return null;
    return section("Constraints", element("ul", { class: "constraints" }, ...found.map((each) => element("li", { class: each.violations ? "broken" : null },
      element("code", {}, each.constraint),
      element("small", {}, each.k == null ? "k not known yet" : `estimated k ${exactly(each.k)}`, each.used ? ", used" : ", only watched",
        each.violations ? `, broken by ${exactly(each.broken ?? each.violations)} rows` : ", never broken",
        each.false_negatives ? `, about ${exactly(Math.ceil(each.false_negatives))} results may be missing` : "")))));
  }

  indexes(now) {
    if (!now.indexes?.length) return null;
    return section("Indexes", element("table", { class: "plain" }, element("tbody", {}, ...now.indexes.map((each) =>
      element("tr", {}, element("td", {}, `input ${each.input}, by ${each.columns.join(", ") || "nothing"}`), element("td", { class: "number" }, bytes(each.bytes)))))));
  }

  cells(node) {
    const found = this.run.latest.cells?.[node.id];
    if (!found) return null;
    const most = Math.max(1, ...found.map(([, rows]) => rows));
    return section("Cells", element("table", { class: "bars" }, element("tbody", {}, ...found.map(([cell, rows, kept]) =>
      element("tr", {}, element("th", { scope: "row" }, `cell ${cell}`), bar(rows / most), element("td", {}, count(rows)), element("td", { class: "quiet" }, kept ? `keeps ${count(kept)}` : ""))))));
  }

  detail(node) {
    if (!node.detail) return null;
    const [first, ...rest] = node.detail.split(/, (?=keeps |forgets |watches |counts |may keep )/);
    return section("How it runs", element("p", { class: "code" }, first), rest.length ? element("ul", { class: "code" }, ...rest.map((text) => element("li", {}, text))) : null);
  }
}

function section(title, ...content) {
  return element("section", { class: "block" }, element("h3", {}, title), ...content);
}

function bar(part) {
  return element("td", { class: "bar-cell" }, element("i", { style: { width: percent(Math.max(0, Math.min(1, part))) } }));
}

function sentence(text) {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
