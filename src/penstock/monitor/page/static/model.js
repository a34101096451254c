// The run: its document, what is new in it, and what is shown of it, which the address keeps.

/** What widths and colours may stand for. */
export const MEASURES = {
  flow: { title: "Flow", unit: "rows/s", property: "rows_out", of: (run, id, at) => run.rate(id, "rows_out", at) },
  state: { title: "State", unit: "rows", property: "state_rows", of: (run, id, at) => run.value(id, "state_rows", at) },
  time: { title: "Time", unit: "of the time", property: "nanoseconds", of: (run, id, at) => run.share(id, at) },
  skew: { title: "Skew", unit: "× mean", property: "skew", of: (run, id, at) => Math.max(0, run.value(id, "skew", at) - 1) },
};

const FLOWS = new Set(["nanoseconds", "rows_in", "rows_out", "late_rows", "bad_rows", "probes", "matches", "function_errors", "cache_lookups", "cache_hits"]);

export class Run {
  constructor(document) {
    this.take(document);
  }

  take(document) {
    this.document = document;
    this.frames = document.frames ?? [];
    this.places = Object.fromEntries((document.properties ?? []).map((name, place) => [name, place]));
    this.nodes = new Map(document.nodes.map((node) => [node.id, node]));
    this.latest = document;
  }

  /** Adds what came since. */
  add(news) {
    this.frames.push(...news.frames);
    this.latest = news;
  }

  get queries() { return this.document.queries; }
  get last() { return this.frames.length - 1; }
  get live() { return this.latest.live; }

  value(id, property, at = this.last) {
    return this.frames[at]?.values[id]?.[this.places[property]] ?? 0;
  }

  /** A flow for a second, over a stretch long enough not to jump. */
  rate(id, property, at = this.last) {
    let rows = 0, seconds = 0;
    for (let place = at; place >= 0 && seconds < 2 && at - place < 40; place--) {
      rows += this.value(id, property, place);
      seconds += this.frames[place].seconds;
    }
    return seconds > 0 ? rows / seconds : 0;
  }

  /** What a flow comes to, up to a moment. */
  total(id, property, at = this.last) {
    let sum = 0;
    for (let place = 0; place <= at; place++) sum += this.value(id, property, place);
    return sum;
  }

  recent(id, property, at = this.last) {
    let sum = 0;
    for (let place = Math.max(0, at - 39); place <= at; place++) sum += this.value(id, property, place);
    return sum;
  }

  /** The part of all measured time that an entity took of late. */
  share(id, at = this.last) {
    let all = 0;
    for (const other of Object.keys(this.frames[at]?.values ?? {})) all += this.recent(other, "nanoseconds", at);
    return all ? this.recent(id, "nanoseconds", at) / all : 0;
  }

  peak(id, property) {
    return this.frames.reduce((most, frame) => Math.max(most, frame.values[id]?.[this.places[property]] ?? 0), 0);
  }

  /** A property at a moment, as a graph shows it. */
  current(id, property, at = this.last) {
    if (property === "nanoseconds") return this.rate(id, property, at) / 1e9;
    return FLOWS.has(property) ? this.rate(id, property, at) : this.value(id, property, at);
  }

  /** Times and values for a graph; flows become rates. */
  series(id, property) {
    const times = this.frames.map((_, place) => this.seconds(place));
    if (!FLOWS.has(property)) return [times, this.frames.map((_, place) => this.value(id, property, place))];
    // Streams are read in turns: over a short stretch the turns would hide how much there is.
    const unit = property === "nanoseconds" ? 1e9 : 1, reach = Math.max(4, Math.round(this.frames.length / 40));
    let sum = 0, seconds = 0;
    const values = this.frames.map((frame, place) => {
      sum += this.value(id, property, place);
      seconds += frame.seconds;
      if (place >= reach) {
        sum -= this.value(id, property, place - reach);
        seconds -= this.frames[place - reach].seconds;
      }
      return seconds > 0 ? Math.max(0, sum) / unit / seconds : 0;
    });
    return [times, values];
  }

  /** How long after the start a frame ended. */
  seconds(at) {
    return (this.frames[at]?.at ?? 0) - this.document.begun;
  }

  /** The number that bounds what a node keeps, if there is one. */
  bound(node) {
    const sizes = (node.bounds ?? []).map((bound) => bound.size);
    return sizes.length && !sizes.includes(null) ? sizes.reduce((a, b) => a + b, 0) : null;
  }

  keeps(node) {
    return (node.bounds ?? []).length > 0 || this.peak(node.id, "state_rows") > 0;
  }

  /** The nodes and edges of a query; of all for none. */
  part(query) {
    const mine = (node) => !query || node.query === query || node.id === `${query}/result`;
    const kept = new Set(this.document.nodes.filter((node) => node.query || node.kind === "result").filter(mine).map((node) => node.id));
    const edges = this.document.edges.filter((edge) => kept.has(edge.to));
    for (const edge of edges) kept.add(edge.from);
    return { nodes: this.document.nodes.filter((node) => kept.has(node.id)), edges };
  }

  totals(query, at = this.last) {
    const sum = (filter, property) =>
      this.document.nodes.filter(filter).reduce((all, node) => all + this.value(node.id, property, at), 0);
    const mine = (node) => node.query && (!query || node.query === query);
    const reads = new Set(this.queries.filter((each) => !query || each.name === query).flatMap((each) => each.reads));
    const sources = this.document.nodes.filter((node) => node.kind === "source" && reads.has(node.stream));
    const dictionary = this.queries.filter((each) => !query || each.name === query)
      .reduce((all, each) => all + this.value(`${each.name}/dictionary`, "state_bytes", at), 0);
    const marks = Object.entries(this.frames[at]?.watermarks ?? {}).filter(([name]) => !query || name === query);
    return {
      rate: sources.reduce((all, node) => all + this.rate(node.id, "rows_in", at), 0),
      rows: sources.reduce((all, node) => all + this.total(node.id, "rows_in", at), 0),
      late: sources.reduce((all, node) => all + this.total(node.id, "late_rows", at), 0),
      stateRows: sum(mine, "state_rows"),
      stateBytes: sum(mine, "state_bytes") + dictionary,
      waiting: sum(mine, "in_flight_rows"),
      watermark: marks.length ? Math.min(...marks.map(([, mark]) => mark)) : null,
      newest: Math.max(...sources.map((node) => this.latest.newest?.[node.stream] ?? -Infinity)),
    };
  }
}

/** What is shown. The address has it, so it can be sent to somebody. */
export class View {
  constructor() {
    const given = new URLSearchParams(location.hash.slice(1));
    this.query = given.get("query") ?? null;
    this.selected = given.get("entity") ?? null;
    this.by = MEASURES[given.get("by")] ? given.get("by") : "flow";
    this.tab = given.get("tab") ?? "graphs";
    this.at = given.has("frame") ? Number(given.get("frame")) : null;
    this.theme = given.get("theme");
    this.graphs = given.getAll("graph").map(shownGraph).filter(Boolean);
  }

  save() {
    const kept = new URLSearchParams();
    if (this.query) kept.set("query", this.query);
    if (this.selected) kept.set("entity", this.selected);
    if (this.by !== "flow") kept.set("by", this.by);
    if (this.tab !== "graphs") kept.set("tab", this.tab);
    if (this.at != null) kept.set("frame", this.at);
    if (this.theme) kept.set("theme", this.theme);
    for (const { entity, property, cql } of this.graphs) kept.append("graph", cql ? `cql:${cql}` : `${entity}|${property}`);
    history.replaceState(null, "", `#${kept}`);
  }
}

/** A graph as the address writes it: a property of an entity, or a query. */
function shownGraph(text) {
  if (text.startsWith("cql:")) return { cql: text.slice(4) };
  const [entity, property, ...more] = text.split("|");
  return property && !more.length ? { entity, property } : null;
}

function quoted(text) {
  return `'${String(text).replaceAll("'", "''")}'`;
}

/** The query over sysstream that a graph stands for. */
export function graphQuery(run, { entity, property, cql }) {
  if (cql) return cql;
  const node = run.nodes.get(entity);
  const source = node?.kind === "source";
  const kind = source ? "source" : ["state_rows", "state_bytes", "violations", "timed_out_rows"].includes(property) ? "synopsis" : property.startsWith("cache_") ? "cache" : "operator";
  const name = source ? node.stream : node ? `${node.fragment}.${node.name}` : entity;
  const query = node?.query ?? run.queries[0]?.name;
  return `SELECT ISTREAM(ts, cell, value) FROM sysstream [NOW]\nWHERE query = ${quoted(query)} AND entity = ${quoted(name)}\n  AND kind = ${quoted(kind)} AND property = ${quoted(property.replace(/^cache_/, ""))}`;
}

/** The graph of a join's pending rows, a line for each thing that they wait for. */
export function waitingGraph(node) {
  return { cql: `SELECT text, SUM(value) AS waiting FROM sysstream [NOW]\nWHERE query = ${quoted(node.query)} AND entity = ${quoted(`${node.fragment}.${node.name}`)}\n  AND property = 'waiting_rows' GROUP BY text` };
}

/** The property whose graph a query stands for; null for any other query, which the run itself has to answer. */
export function queryGraph(run, text) {
  const plain = (query) => query.replace(/\s+/g, " ").trim().replace(/;$/, "").toLowerCase();
  for (const node of run.document.nodes) {
    if (node.kind === "result" || node.kind === "table") continue;
    for (const property of Object.keys(run.places)) {
      const graph = { entity: node.id, property };
      if (plain(graphQuery(run, graph)) === plain(text)) return graph;
    }
  }
  return null;
}

/** What a cache holds, as a person reads it. */
export function cacheText(cache) {
  const where = cache.semijoined ? ` where ${cache.semijoined.join(" and ")} match` : "";
  return `${cache.caches.join(" with ")} for rows of ${cache.path}${where}`;
}

/** The probe paths that a join has now: as decided last, or as planned. */
export function pathsOf(run, node) {
  const decided = (run.latest.decisions ?? []).filter((each) => each.paths && each.entity === node.id).at(-1);
  if (decided) return decided.paths.map(([input, ...targets]) => ({ input, targets }));
  return (node.paths ?? []).map((path) => ({ input: path.input, targets: path.stages.map((stage) => stage.probes) }));
}
