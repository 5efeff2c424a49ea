"use strict";
// The graph of a step's ops. ELK lays out what is open; ops that hold others, and long runs of ops, can be opened and closed.

const MOST_AT_FIRST = 90; // nodes that are shown before anything is opened
const MOST_USERS = 12; // edges that leave a box; of more none is drawn
const LEAST_AT_FIRST = 0.7; // scale
const MOST_SHOWN = 1500; // nodes that are laid out at all
const LETTER = 7.3,
  LONGEST = 34,
  LINE_HEIGHT = 16;
const SVG = "http://www.w3.org/2000/svg";

const LAYOUT = {
  "elk.algorithm": "layered",
  "elk.direction": "DOWN",
  "elk.hierarchyHandling": "INCLUDE_CHILDREN",
  "elk.edgeRouting": "ORTHOGONAL",
  "elk.json.edgeCoords": "ROOT",
  "elk.json.shapeCoords": "ROOT",
  "elk.layered.considerModelOrder.strategy": "NODES_AND_EDGES",
  "elk.layered.nodePlacement.strategy": "BRANDES_KOEPF",
  "elk.layered.spacing.nodeNodeBetweenLayers": "28",
  "elk.spacing.nodeNode": "22",
  "elk.spacing.edgeNode": "14",
  "elk.layered.thoroughness": "3",
  "elk.padding": "[top=12,left=12,bottom=12,right=12]",
};
const BOX = { "elk.padding": "[top=40,left=14,bottom=14,right=14]" };

const shortened = (text) => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}\u2026` : text);

function drawn(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

class GraphPane {
  constructor(canvas, status, strings, times, select) {
    Object.assign(this, { canvas, status, strings, times, select, scale: 1, x: 0, y: 0, selected: -1, pending: 0 });
    const url = URL.createObjectURL(new Blob([document.getElementById("elk-worker").textContent], { type: "text/javascript" }));
    this.start = () => {
      this.elk = this.elk || new (ELK.default || ELK)({ workerFactory: () => new Worker(url) });
      return this.elk;
    };
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.drag(event));
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("click", (event) => this.click(event));
    canvas.addEventListener("dblclick", (event) => {
      const box = this.boxAt(event.target);
      if (box) this.toggle(box);
    });
  }

  async show(step) {
    if (this.step === step) return this.ready;
    this.step = step;
    Object.assign(this, boxesOf(step, this.strings), { selected: -1 });
    const waiting = [this.root];
    for (let shown = this.root.children.length; waiting.length;) {
      const box = waiting.shift();
      if (box !== this.root && shown + box.children.length > MOST_AT_FIRST) continue;
      if (box !== this.root) shown += box.children.length;
      box.open = box.children.length > 0;
      waiting.push(...box.children.filter((child) => child.children.length));
    }
    this.ready = this.layout().then(() => this.home());
    return this.ready;
  }

  visible() {
    const found = [];
    const add = (box) => {
      for (const child of box.children) {
        found.push(child);
        if (child.open) add(child);
      }
    };
    add(this.root);
    return found;
  }

  elkNode(box) {
    const [title, types] = labels(box, this.step, this.strings),
      fan = this.fans.get(box.id);
    const measured = this.times.ofBox(box, this.step);
    box.share = this.times.share(measured);
    const sub = [measured.size ? percent(box.share) : "", fan ? `\u2192 ${fan} nodes` : "", types].filter(Boolean).join(", ");
    const sign = box.children.length ? (box.open ? "\u25be " : "\u25b8 ") : "";
    box.title = sign + shortened(title);
    box.sub = shortened(sub);
    box.full = `${title} ${sub}`;
    const width = Math.max(box.title.length, box.sub.length, 6) * LETTER + 20;
    const node = { id: box.id, width, height: box.sub ? 2 * LINE_HEIGHT + 12 : LINE_HEIGHT + 14 };
    if (box.open)
      return {
        ...node,
        layoutOptions: { ...BOX, "elk.nodeSize.constraints": "MINIMUM_SIZE", "elk.nodeSize.minimum": `(${width},60)` },
        children: box.children.map((child) => this.elkNode(child)),
      };
    return node;
  }

  // Edges between visible boxes, each once: from where a value is defined to where it is used.
  edges() {
    const at = new Array(this.boxes.length),
      found = new Map();
    const place = (box, seen) => {
      if (box.row >= 0) at[box.row] = seen || box;
      for (const child of box.children) place(child, seen || (box.open ? null : box));
    };
    for (const child of this.root.children) place(child, null);
    const holds = (outer, inner) => {
      for (let box = inner; box; box = box.parent) if (box === outer) return true;
      return false;
    };
    this.step.uses.forEach((uses, user) => {
      for (let i = 0; i < uses.length; i += 2) {
        const from = at[uses[i]],
          to = at[user],
          id = `${from.id}-${to.id}`;
        if (!found.has(id) && !holds(from, to) && !holds(to, from)) found.set(id, { id, sources: [from.id], targets: [to.id] });
      }
    });
    return this.withoutFans([...found.values()]);
  }

  // The edges, but those of boxes that very many others use, such as constants; the boxes say so instead.
  withoutFans(edges) {
    const users = new Map();
    for (const edge of edges) users.set(edge.sources[0], (users.get(edge.sources[0]) || 0) + 1);
    this.fans = new Map([...users].filter(([, n]) => n > MOST_USERS));
    return edges.filter((edge) => !this.fans.has(edge.sources[0]));
  }

  async layout() {
    const shown = this.visible(),
      request = ++this.pending;
    this.status.textContent = `laying out ${shown.length} nodes`;
    const edges = this.edges();
    const graph = { id: "root", layoutOptions: LAYOUT, children: this.root.children.map((box) => this.elkNode(box)), edges };
    try {
      const found = await this.start().layout(graph);
      if (request === this.pending) this.draw(found, shown);
    } catch (error) {
      this.status.textContent = `the layout failed: ${error.message || error}`;
    }
  }

  draw(graph, shown) {
    this.size = [graph.width, graph.height];
    const byId = new Map(shown.map((box) => [box.id, box]));
    const place = (node) => {
      Object.assign(byId.get(node.id) || {}, { at: node });
      (node.children || []).forEach(place);
    };
    graph.children.forEach(place);
    this.content = drawn("g");
    const paths = [],
      nodes = [];
    for (const edge of graph.edges) {
      const [section] = edge.sections || [];
      if (!section) continue;
      const points = [section.startPoint, ...(section.bendPoints || []), section.endPoint];
      const path = drawn("path", {
        class: "edge",
        d: `M${points.map((p) => `${p.x.toFixed(1)},${p.y.toFixed(1)}`).join("L")}`,
        "marker-end": "url(#arrow)",
      });
      Object.assign(path, { from: edge.sources[0], to: edge.targets[0] });
      paths.push(path);
    }
    for (const box of shown) nodes.push(this.node(box));
    const outer = nodes.filter((_, i) => shown[i].open),
      inner = nodes.filter((_, i) => !shown[i].open);
    this.content.append(...outer, ...paths, ...inner);
    const arrow = drawn(
      "marker",
      {
        id: "arrow",
        viewBox: "0 0 8 8",
        refX: 7,
        refY: 4,
        markerWidth: 8,
        markerHeight: 8,
        markerUnits: "userSpaceOnUse",
        orient: "auto",
      },
      drawn("path", { d: "M0,0L8,4L0,8z" }),
    );
    this.canvas.replaceChildren(drawn("defs", {}, arrow), this.content);
    Object.assign(this, { paths, shown });
    this.status.textContent = `${shown.length} nodes of ${this.boxes.length}, ${paths.length} edges`;
    this.rove(shown.find((box) => box.row === this.selected && box.row >= 0) || shown[0]);
    this.mark(this.selected);
    this.move();
  }

  node(box) {
    const { x, y, width, height } = box.at,
      holds = box.children.length > 0;
    const kind = box.open ? "open" : holds ? "closed" : box.name === "arguments" ? "arguments" : "op";
    const words = holds ? (box.open ? ", open" : `, closed, holds ${box.size - isOp(box.name)} ops`) : "";
    const made = drawn("g", {
      class: `node ${kind}`,
      role: "button",
      tabindex: "-1",
      "aria-label": `${box.title} ${box.sub}`.trim() + words,
    });
    if (`${box.title} ${box.sub}`.includes("\u2026")) made.setAttribute("aria-description", box.full);
    if (holds) made.setAttribute("aria-expanded", String(box.open));
    const rounding = kind === "arguments" ? height / 2 : 4;
    made.append(drawn("title", {}, box.full), drawn("rect", { x, y, width, height, rx: rounding }));
    if (kind === "closed")
      made.append(drawn("rect", { x: x + 3, y: y + 3, width: width - 6, height: height - 6, rx: 2, class: "inner" }));
    if (box.share) made.append(drawn("rect", { x, y: y + height - 5, width: width * Math.min(1, box.share), height: 5, class: "time" }));
    made.append(drawn("text", { x: x + 10, y: y + 18, class: "title" }, box.title));
    if (box.sub) made.append(" ", drawn("text", { x: x + 10, y: y + 18 + LINE_HEIGHT }, box.sub));
    made.box = box;
    box.drawn = made;
    return made;
  }

  boxAt(target) {
    const node = target.closest && target.closest(".node");
    return node ? node.box : null;
  }

  click(event) {
    const box = this.boxAt(event.target);
    if (!box || this.dragged) return;
    this.rove(box, true);
    if (box.row < 0) this.toggle(box);
    else this.choose(box);
  }

  choose(box) {
    if (box.row >= 0) this.select(box.row);
  }

  async toggle(box) {
    if (!box.children.length) return;
    if (!box.open && this.visible().length + box.children.length > MOST_SHOWN) {
      this.status.textContent = `more than ${MOST_SHOWN} nodes would be shown; close some first`;
      return;
    }
    box.open = !box.open;
    const before = box.drawn.getBoundingClientRect();
    await this.layout();
    const after = box.drawn.getBoundingClientRect();
    this.x += before.left - after.left;
    this.y += before.top - after.top;
    this.move();
    this.rove(box, true);
  }

  async closeAll() {
    for (const box of this.visible()) box.open = false;
    await this.layout();
    this.fit();
  }

  // Open what an op is in, and bring it into sight.
  async reveal(row) {
    await this.ready;
    let opened = false;
    for (let box = this.boxes[row].parent; box && box !== this.root; box = box.parent) {
      opened = opened || !box.open;
      box.open = true;
    }
    this.selected = row;
    if (opened) await this.layout();
    const { x, y, width } = this.boxes[row].at,
      { clientWidth, clientHeight } = this.canvas;
    this.scale = Math.max(this.scale, 0.7);
    this.x = clientWidth / 2 - (x + width / 2) * this.scale;
    this.y = clientHeight / 3 - y * this.scale;
    this.mark(row);
    this.rove(this.boxes[row]);
    this.move();
  }

  mark(row) {
    this.selected = row;
    if (!this.shown) return;
    let box = row >= 0 ? this.boxes[row] : null;
    for (let outer = box; outer; outer = outer.parent) if (outer.parent && !outer.parent.open) box = outer.parent;
    for (const other of this.shown) other.drawn.classList.toggle("selected", other === box);
    for (const path of this.paths) {
      path.classList.toggle("into", Boolean(box) && path.to === box.id);
      path.classList.toggle("out", Boolean(box) && path.from === box.id);
    }
  }

  rove(box, focus) {
    if (!box) return;
    if (this.focused && this.focused.drawn) this.focused.drawn.setAttribute("tabindex", "-1");
    this.focused = box;
    box.drawn.setAttribute("tabindex", "0");
    if (focus) box.drawn.focus({ preventScroll: true });
  }

  // The visible boxes that a box has edges from (its operands) or to (its users).
  neighbour(box, into) {
    const path = this.paths.find((edge) => (into ? edge.to : edge.from) === box.id);
    return path && this.shown.find((other) => other.id === (into ? path.from : path.to));
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const shift = { ArrowLeft: [80, 0], ArrowRight: [-80, 0], ArrowUp: [0, 80], ArrowDown: [0, -80] }[event.key];
    const box = this.boxAt(event.target);
    if (shift && event.shiftKey) {
      this.x += shift[0];
      this.y += shift[1];
      this.move();
    } else if (event.key === "+" || event.key === "=") this.zoom(1.25);
    else if (event.key === "-") this.zoom(0.8);
    else if (event.key === "0") this.fit();
    else if (box && event.key === "Enter") {
      if (box.row < 0) this.toggle(box);
      else this.choose(box);
    } else if (box && event.key === " ") this.toggle(box);
    else if (box && shift) {
      const order = this.shown.indexOf(box);
      const next = {
        ArrowLeft: () => this.shown[order - 1],
        ArrowRight: () => this.shown[order + 1],
        ArrowUp: () => this.neighbour(box, true),
        ArrowDown: () => this.neighbour(box, false),
      }[event.key]();
      if (next) {
        this.rove(next, true);
        this.sight(next);
      }
    } else return;
    event.preventDefault();
  }

  // Move as little as brings a box into sight.
  sight(box) {
    const inner = box.drawn.getBoundingClientRect(),
      outer = this.canvas.getBoundingClientRect();
    const by = (low, high, from, to) =>
      low < from ? from - low + 20 : high > to ? Math.max(to - high - 20, from - low + 20) : 0;
    this.x += by(inner.left, inner.right, outer.left, outer.right);
    this.y += by(inner.top, inner.bottom, outer.top, outer.bottom);
    this.move();
  }

  wheel(event) {
    event.preventDefault();
    if (event.ctrlKey || event.metaKey) {
      this.zoom(Math.exp(-event.deltaY / 300), event);
      return;
    }
    this.x -= event.deltaX;
    this.y -= event.deltaY;
    this.move();
  }

  drag(event) {
    if (event.button) return;
    const start = [event.clientX - this.x, event.clientY - this.y];
    this.dragged = false;
    const follow = (moved) => {
      if (Math.abs(moved.movementX) + Math.abs(moved.movementY) > 0)
        this.dragged = this.dragged || Math.hypot(moved.clientX - event.clientX, moved.clientY - event.clientY) > 4;
      [this.x, this.y] = [moved.clientX - start[0], moved.clientY - start[1]];
      if (this.dragged) this.move();
    };
    const stop = () => {
      window.removeEventListener("pointermove", follow);
      window.removeEventListener("pointerup", stop);
    };
    window.addEventListener("pointermove", follow);
    window.addEventListener("pointerup", stop);
  }

  zoom(by, event) {
    const { left, top, width, height } = this.canvas.getBoundingClientRect();
    const [x, y] = event ? [event.clientX - left, event.clientY - top] : [width / 2, height / 2];
    const scale = Math.min(4, Math.max(0.02, this.scale * by));
    this.x = x - ((x - this.x) * scale) / this.scale;
    this.y = y - ((y - this.y) * scale) / this.scale;
    this.scale = scale;
    this.move();
  }

  fit() {
    if (!this.size) return;
    const { clientWidth, clientHeight } = this.canvas;
    this.scale = Math.min(1.2, clientWidth / this.size[0], clientHeight / this.size[1]);
    this.x = (clientWidth - this.size[0] * this.scale) / 2;
    this.y = Math.max(0, (clientHeight - this.size[1] * this.scale) / 2);
    this.move();
  }

  // Fit all, but keep text readable.
  home() {
    this.fit();
    if (this.scale >= LEAST_AT_FIRST || !this.size) return;
    Object.assign(this, {
      scale: LEAST_AT_FIRST,
      x: Math.max(0, (this.canvas.clientWidth - this.size[0] * LEAST_AT_FIRST) / 2),
      y: 0,
    });
    this.move();
  }

  move() {
    if (this.content)
      this.content.setAttribute(
        "transform",
        `translate(${this.x.toFixed(2)},${this.y.toFixed(2)}) scale(${this.scale.toFixed(4)})`,
      );
  }
}
