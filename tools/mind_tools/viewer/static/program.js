"use strict";
// The programs of all steps, decoded from the page's data, and the pane with the text before and after a step.

const SAME = 0,
  RENUMBERED = 1,
  CHANGED = 2,
  REPLACED = 3;
const CONTEXT = 3; // unchanged lines shown on either side of a difference
const ROWS_PER_BLOCK = 100;

// An element with properties, attributes and children; text of programs gets into the page only as text nodes.
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

// Each step with its lines in full, and `rows`: pairs of lines side by side, [kind, index before, index after], -1 for none.
function decodeSteps(data) {
  let before = [],
    last = null;
  return data.steps.map((given, number) => {
    const step = given.op ? given : { ...last, name: given.name, runs: [[SAME, before.length, before.length]] };
    last = step;
    const after = [],
      rows = [];
    let old = 0,
      fresh = 0;
    for (const [kind, removed, added] of step.runs) {
      for (let i = 0; i < Math.max(removed, added); i++) {
        rows.push([number ? kind : SAME, i < removed ? old + i : -1, i < added ? after.length + i : -1]);
      }
      const lines = kind === SAME ? before.slice(old, old + added) : step.lines.slice(fresh, (fresh += added));
      for (const line of lines) after.push(line);
      old += removed;
    }
    const decoded = { ...step, before, lines: after, rows, number };
    before = after;
    return decoded;
  });
}

// How many lines of each kind a step has, in words.
function summary(step) {
  const counts = { changed: 0, removed: 0, added: 0, renumbered: 0 };
  for (const [kind, before, after] of step.rows) {
    if (kind === CHANGED) counts.changed++;
    if (kind === RENUMBERED) counts.renumbered++;
    if (kind === REPLACED) {
      counts.removed += before >= 0;
      counts.added += after >= 0;
    }
  }
  const parts = Object.entries(counts)
    .filter(([, n]) => n)
    .map(([word, n]) => `${n} ${word}`);
  return step.number === 0 ? `${step.lines.length} lines` : parts.join(", ") || "no change";
}

const words = (text) => text.trim().match(/%?[\w.]+|\s+|./gu) || [];

// The words of a line that differ from those of the other: each by itself where there are as many, else all that lies between.
function differing(text, other) {
  const mine = words(text),
    theirs = words(other);
  if (mine.length === theirs.length) return mine.map((word, i) => [word, word !== theirs[i]]);
  const most = Math.min(mine.length, theirs.length);
  let start = 0,
    end = 0;
  while (start < most && mine[start] === theirs[start]) start++;
  while (end < most - start && mine[mine.length - 1 - end] === theirs[theirs.length - 1 - end]) end++;
  return mine.map((word, i) => [word, i >= start && i < mine.length - end]);
}

// A line with the words marked that differ from another line; neighbours share a mark.
function marked(text, other) {
  const parts = [text.slice(0, text.length - text.trimStart().length)];
  let open = null;
  for (const [word, differs] of differing(text, other)) {
    if (differs && !open) parts.push((open = element("mark")));
    if (!differs) open = null;
    (open || { append: (plain) => parts.push(plain) }).append(word);
  }
  return parts;
}

const MARKS = {
  [SAME]: ["", ""],
  [RENUMBERED]: ["\u2248", "only numbers of values or indentation differ"],
  [CHANGED]: ["~", "changed"],
  other: ["~", "changed: the same text, but a number in it is that of another value"],
  removed: ["\u2212", "removed"],
  added: ["+", "added"],
  none: ["", ""],
};

class ProgramPane {
  constructor(root, select) {
    this.root = root;
    this.select = select;
    root.addEventListener("click", (event) => this.choose(event.target.closest("[data-line]")));
    root.addEventListener("keydown", (event) => this.key(event));
  }

  show(step, all) {
    this.step = step;
    this.root.replaceChildren();
    this.root.classList.toggle("single", step.number === 0);
    this.rows = [];
    for (const part of this.parts(all || step.number === 0)) this.root.append(this.blocks(part));
    if (this.rows.length) this.rows[0].tabIndex = 0;
  }

  // Runs of rows that are shown, and runs that are folded.
  parts(all) {
    const rows = this.step.rows,
      parts = [];
    const near = new Uint8Array(rows.length);
    rows.forEach(([kind], i) => {
      if (all || kind === CHANGED || kind === REPLACED) near.fill(1, Math.max(0, i - CONTEXT), i + CONTEXT + 1);
    });
    for (let i = 0; i < rows.length;) {
      let end = i;
      while (end < rows.length && near[end] === near[i]) end++;
      parts.push({ start: i, end, folded: !near[i] && end - i > 1 });
      i = end;
    }
    return parts;
  }

  blocks({ start, end, folded }) {
    const made = document.createDocumentFragment();
    if (folded) {
      const button = element("button", { class: "fold" }, `${end - start} lines without a difference`);
      const line = element("div", { role: "row" }, element("div", { role: "cell" }, button));
      button.addEventListener("click", () => {
        const opened = this.blocks({ start, end, folded: false });
        const first = opened.querySelector(".row");
        line.replaceWith(opened);
        this.rows = [...this.root.querySelectorAll(".row")];
        first.focus();
      });
      made.append(line);
      return made;
    }
    for (let i = start; i < end; i += ROWS_PER_BLOCK) {
      const block = element("div", { class: "block", role: "rowgroup" });
      for (let k = i; k < Math.min(end, i + ROWS_PER_BLOCK); k++) block.append(this.row(this.step.rows[k]));
      block.style.containIntrinsicSize = `auto ${block.childElementCount * 19}px`;
      made.append(block);
    }
    return made;
  }

  row([kind, before, after]) {
    const old = before >= 0 ? this.step.before[before] : "",
      now = after >= 0 ? this.step.lines[after] : "";
    const marks =
      kind === REPLACED
        ? [before >= 0 ? "removed" : "none", after >= 0 ? "added" : "none"]
        : kind === CHANGED && old === now
          ? ["other", "other"]
          : [kind, kind];
    const row = element("div", { class: "row", role: "row", tabindex: "-1", "data-line": after });
    if (this.step.number) row.append(...this.cells(before, old, marks[0], kind === CHANGED ? now : null));
    row.append(...this.cells(after, now, marks[1], kind === CHANGED ? old : null));
    if (kind === CHANGED || kind === REPLACED) row.dataset.differs = "";
    this.rows.push(row);
    return row;
  }

  cells(index, text, mark, other) {
    const [sign, word] = MARKS[mark],
      kind = { [RENUMBERED]: "renumbered", [CHANGED]: "changed", other: "changed" }[mark] || mark || "same";
    const line = element("code", { class: kind, role: "cell" });
    line.append(...(other === null ? [text] : marked(text, other)));
    return [
      element("span", { class: "number", role: "cell" }, index >= 0 ? String(index + 1) : ""),
      element("span", { class: `sign ${kind}`, role: "cell", title: word }, sign, element("span", { class: "hidden" }, word)),
      line,
    ];
  }

  choose(row) {
    if (!row) return;
    this.focus(row);
    const found = this.step.line.indexOf(Number(row.dataset.line));
    if (found >= 0) this.select(found);
  }

  focus(row) {
    this.root.querySelectorAll('.row[tabindex="0"]').forEach((other) => {
      other.tabIndex = -1;
    });
    row.tabIndex = 0;
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  }

  key(event) {
    const row = event.target.closest(".row");
    if (!row || event.ctrlKey || event.altKey || event.metaKey) return;
    const to = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (to) this.focus(this.rows[this.rows.indexOf(row) + to] || row);
    else if (event.key === "Enter") this.choose(row);
    else return;
    event.preventDefault();
  }

  // Go to the next or previous block of differing lines.
  toDifference(direction) {
    const at = this.rows.findIndex((row) => row.tabIndex === 0);
    const places = [];
    this.rows.forEach((row, i) => {
      if ("differs" in row.dataset && !(i && "differs" in this.rows[i - 1].dataset)) places.push(i);
    });
    const next = direction > 0 ? places.find((i) => i > at) : places.filter((i) => i < at).pop();
    const first = direction > 0 ? places[0] : places[places.length - 1];
    const chosen = this.rows[next ?? first];
    if (chosen) {
      this.focus(chosen);
      chosen.scrollIntoView({ block: "center" });
    }
  }

  // Mark the line of an op, and go to it.
  mark(line, move) {
    this.root.querySelectorAll(".row.selected").forEach((row) => row.classList.remove("selected"));
    let row = this.rows.find((candidate) => Number(candidate.dataset.line) === line);
    if (!row && move) {
      this.show(this.step, true);
      row = this.rows.find((candidate) => Number(candidate.dataset.line) === line);
    }
    if (!row) return;
    row.classList.add("selected");
    if (move) row.scrollIntoView({ block: "center" });
  }
}
