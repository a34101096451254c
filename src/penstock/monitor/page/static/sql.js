// The text of the queries, with the part that the selected operator comes from.

import { element } from "penstock/format.js";

const WORDS = /('(?:[^']|'')*')|(--[^\n]*)|\b(select|from|where|group|by|having|and|or|not|in|as|on|join|exists|union|all|except|intersect|distinct|create|or|replace|stream|table|view|query|assertion|alter|add|using|options|timestamp|delay|range|rows|now|unbounded|partition|slide|istream|dstream|rstream|unique|foreign|key|references|within|clustered|ordered|punctuated|when|then|case|end|inferred|lifespan|null|is|like|between|sum|count|avg|min|max)\b|(\d+(?:\.\d+)?)/gi;

export function showSql(host, run, query, selected) {
  const texts = run.document.texts ?? [];
  const own = run.queries.find((each) => each.name === query) ?? run.queries[0];
  const node = selected ? run.nodes.get(selected) : null;
  const number = node?.text ?? own?.text ?? 0;
  const { text, name } = texts[number] ?? { text: "", name: "" };
  const spans = (node?.spans ?? []).filter(([start, end]) => end > start);
  const whole = query && own?.text === number ? own.span : null;
  const code = element("pre", { tabindex: 0, "aria-label": `SQL of ${name}` });
  const cuts = [...new Set([0, text.length, ...spans.flat(), ...(whole ?? [])])].sort((a, b) => a - b);
  let first = null;
  for (let place = 0; place + 1 < cuts.length; place++) {
    const [start, end] = [cuts[place], cuts[place + 1]];
    const inside = spans.some(([from, to]) => from <= start && end <= to);
    const outside = whole && !(whole[0] <= start && end <= whole[1]);
    const piece = element(inside ? "mark" : "span", { class: outside ? "other" : null }, ...tinted(text.slice(start, end)));
    if (inside && !first) first = piece;
    code.append(piece);
  }
  const place = spans.length ? spans[0][0] : whole?.[0];
  const line = place == null ? null : text.slice(0, place).split("\n").length;
  const before = host.querySelector("pre")?.scrollTop ?? 0;
  host.replaceChildren(element("h2", {}, "SQL ", element("span", { class: "quiet" }, line ? `${name}:${line}` : name)), code);
  code.scrollTop = before;
  const target = first ?? (before || !whole ? null : code.querySelector("pre > span:not(.other)"));
  if (target && code.scrollHeight > code.clientHeight) code.scrollTop = Math.max(0, target.offsetTop - code.offsetTop - code.clientHeight / 3);
}

function tinted(text) {
  const pieces = [];
  let at = 0;
  for (const found of text.matchAll(WORDS)) {
    if (found.index > at) pieces.push(text.slice(at, found.index));
    const kind = found[1] ? "string" : found[2] ? "comment" : found[3] ? "word" : "literal";
    pieces.push(element("span", { class: kind }, found[0]));
    at = found.index + found[0].length;
  }
  pieces.push(text.slice(at));
  return pieces;
}
