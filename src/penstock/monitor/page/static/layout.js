// Where nodes and edges of a plan lie: streams on the left, results on the right.

import dagre from "penstock/vendor/dagre.esm.js";

export const WIDTH = 164, HEIGHT = 46, TANK = 26;

/** Places the nodes of a part of a run, from left to right or from top to bottom, whichever is larger in a box. */
export function placed(part, keeps, box) {
  const scale = ({ width, height }) => Math.min(1.1, box.width / width, box.height / height);
  const [across, down] = [layout(part, keeps, false), layout(part, keeps, true)];
  return scale(down) > scale(across) * 1.05 ? down : across;
}

/** What keeps state is taller: its synopsis hangs below it. */
function layout(part, keeps, isDown) {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  const many = part.nodes.length > 40;
  graph.setGraph({ rankdir: isDown ? "TB" : "LR", nodesep: many ? 12 : 20, ranksep: isDown ? 30 : many ? 30 : 40, edgesep: 8, marginx: 14, marginy: 14 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of part.nodes) {
    const small = node.kind === "source" || node.kind === "table" || node.kind === "result";
    graph.setNode(node.id, { width: small ? WIDTH - 24 : WIDTH, height: HEIGHT + (keeps(node) ? TANK : 0) });
  }
  part.edges.forEach((edge, number) => {
    const room = edge.kind === "queue" || edge.kind === "exchange" ? { width: isDown ? 20 : 46, height: 8, labelpos: "c" } : {};
    graph.setEdge(edge.from, edge.to, { weight: edge.kind === "evidence" ? 0 : 2, ...room }, String(number));
  });
  dagre.layout(graph);
  const places = new Map(part.nodes.map((node) => [node.id, graph.node(node.id)]));
  const lines = part.edges.map((edge, number) => graph.edge(edge.from, edge.to, String(number)));
  const { width = 1, height = 1 } = part.nodes.length ? graph.graph() : {};
  return { places, lines, width, height, isDown };
}

/** A smooth path through points. */
export function curve(points, isDown) {
  const [first, ...rest] = points;
  let path = `M${first.x},${first.y}`;
  for (let place = 0; place < rest.length; place++) {
    const a = place ? rest[place - 1] : first, b = rest[place], x = (a.x + b.x) / 2, y = (a.y + b.y) / 2;
    path += isDown ? `C${a.x},${y} ${b.x},${y} ${b.x},${b.y}` : `C${x},${a.y} ${x},${b.y} ${b.x},${b.y}`;
  }
  return path;
}
