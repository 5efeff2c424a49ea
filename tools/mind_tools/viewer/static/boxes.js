"use strict";
// What the graph of a step is drawn from: a box for each op, inside that of its parent, and for each run of a long block.

const MOST_CHILDREN = 80; // of one box; more are grouped into runs
const LONGEST_RUN = 50;

const isOp = (name) => name !== "" && name !== "arguments" && !name.startsWith("region "); // other rows have no line of their own

// The boxes of a step: one for each op, and one for each run of ops where there are too many beside each other.
function boxesOf(step, strings) {
  const boxes = step.op.map((name, row) => ({
    id: `r${row}`,
    row,
    name: strings[name],
    children: [],
    parent: null,
    open: false,
    size: isOp(strings[name]) ? 1 : 0,
  }));
  const root = { id: "root", row: -1, name: "", children: [], parent: null, open: true, size: 0 };
  boxes.forEach((box, row) => (step.parent[row] < 0 ? root : boxes[step.parent[row]]).children.push(box));
  const grouped = (children) => {
    if (children.length <= MOST_CHILDREN) return children;
    const size = Math.ceil(children.length / Math.ceil(children.length / LONGEST_RUN)),
      runs = [];
    for (let i = 0; i < children.length; i += size) {
      const held = children.slice(i, i + size);
      runs.push({ id: `g${held[0].id}`, row: -1, name: "", children: held, parent: null, open: false, size: 0, run: true });
    }
    return grouped(runs);
  };
  const attach = (box) => {
    if (!box.run) box.children = grouped(box.children);
    for (const child of box.children) {
      child.parent = box;
      attach(child);
      box.size += child.size;
    }
  };
  attach(root);
  return { root, boxes };
}

function labels(box, step, strings) {
  if (box.row < 0) {
    const counts = new Map();
    const count = (held) => (held.run ? held.children.forEach(count) : counts.set(held.name, (counts.get(held.name) || 0) + 1));
    count(box);
    const most = [...counts]
      .sort((a, b) => b[1] - a[1])
      .slice(0, 2)
      .map(([name, n]) => `${n} ${name.split(".").pop()}`)
      .join(", ");
    const last = (held) => (held.run ? last(held.children[held.children.length - 1]) : held);
    const first = (held) => (held.run ? first(held.children[0]) : held);
    return [`lines ${step.line[first(box).row] + 1} to ${step.line[last(box).row] + 1}`, most];
  }
  const values = step.values[box.row].replaceAll(" ", ", "),
    types = step.types[box.row].map((type) => strings[type]).join(", ");
  const title = [values && box.name !== "arguments" ? `${values} =` : "", box.name, step.symbol[box.row] || ""]
    .filter(Boolean)
    .join(" ");
  return [
    title,
    box.name === "arguments" ? `${values}: ${types}` : types || (box.children.length ? `${box.size - isOp(box.name)} ops` : ""),
  ];
}
