"use strict";
// The page: steps, views, search and the details of an op.

const data = JSON.parse(document.getElementById("data").textContent);
const strings = data.strings;
const steps = decodeSteps(data);
const byId = (id) => document.getElementById(id);
const state = { step: steps.length - 1, view: "program", selected: -1, matches: [], match: -1 };

const became = new Map(
  data.kernels.became.map(([symbol, place, kernel]) => [`${strings[symbol]}\n${strings[place]}`, strings[kernel]]),
);
const programPane = new ProgramPane(byId("lines"), (row) => select(row, false));
const times = new Times(data.profile, strings);
const graphPane = new GraphPane(byId("canvas"), byId("graph-status"), strings, times, (row) => select(row, false));

const current = () => steps[state.step];

// The next step in a direction that the list shows.
function step(direction) {
  const items = [...byId("steps").children];
  let next = state.step + direction;
  while (items[next] && getComputedStyle(items[next]).display === "none") next += direction;
  showStep(next);
}

function showStep(number) {
  if (number < 0 || number >= steps.length) return;
  state.step = number;
  state.selected = -1;
  [...byId("steps").children].forEach((item, i) => {
    item.firstChild.setAttribute("aria-current", i === number ? "step" : "false");
    if (i === number) item.scrollIntoView({ block: "nearest" });
  });
  byId("change").textContent = `${current().name}: ${summary(current())}`;
  programPane.show(current(), byId("all-lines").checked);
  if (state.view === "graph") graphPane.show(current());
  if (state.view === "profile") showProfile();
  search(false);
  details();
}

function showView(name, focus) {
  state.view = name;
  for (const tab of byId("tabs").children) {
    const chosen = tab.getAttribute("aria-controls") === name;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    byId(tab.getAttribute("aria-controls")).hidden = !chosen;
    if (chosen && focus) tab.focus();
  }
  if (name === "profile") showProfile();
  if (name !== "graph") return;
  graphPane.show(current());
  if (state.selected >= 0) graphPane.reveal(state.selected);
}

// The measured steps, each with the op of the current step that it comes from.
function showProfile() {
  if (!data.profile) {
    byId("times").replaceChildren("No profile: write one with mind-run --trace FILE, and pass it as mind-view --profile FILE.");
    return;
  }
  const { function: ran, machine, steps: measured } = data.profile;
  byId("profile-about").textContent = `of ${ran} on ${machine}, ${measured.length} steps, ${microseconds(times.total)}`;
  const show = (row) => {
    showView("program", true);
    select(row, true);
  };
  byId("times").replaceChildren(times.table(current(), show));
}

// Show an op in the details, in the program and in the graph; `move` brings it into sight where it was not clicked.
function select(row, move) {
  state.selected = row;
  programPane.mark(row < 0 ? -1 : current().line[row], move && state.view === "program");
  if (state.view === "graph") move ? graphPane.reveal(row) : graphPane.mark(row);
  details();
}

const nameOf = (step, row) => strings[step.op[row]];
const lineOf = (step, row) => step.lines[step.line[row]].trim();
const valuesOf = (step, row) => (step.values[row] ? step.values[row].split(" ") : []);

function kernelOf(step, row) {
  const inside = strings[step.kernel[row]],
    from = data.kernels.step;
  if (inside) return `${inside}, at this step`;
  if (from < 0) return "not known: no step forms kernels";
  const symbol = step.symbol[step.function[row]],
    place = strings[step.location[row]];
  const kernel = became.get(`${symbol}\n${place}`);
  return kernel ? `${kernel}, by its location, after ${steps[from].name}` : "not known: no op of a kernel has its location";
}

function opLink(step, row, text) {
  return element("button", { class: "link", onclick: () => select(row, true) }, text);
}

function details() {
  const root = byId("details"),
    step = current(),
    row = state.selected;
  root.replaceChildren();
  if (row < 0) return root.append(element("p", {}, "Choose a line or a node."));
  const list = element("dl");
  const add = (term, ...parts) => {
    if (parts.length) list.append(element("dt", {}, term), ...parts.map((part) => element("dd", {}, part)));
  };
  add("name", `${nameOf(step, row)} ${step.symbol[row] || ""}`);
  const operands = [];
  for (let i = 0; i < step.uses[row].length; i += 2) {
    const [from, place] = step.uses[row].slice(i, i + 2);
    operands.push(opLink(step, from, `${valuesOf(step, from)[place]}: ${strings[step.types[from][place]]}`));
  }
  add("operands", ...operands);
  add(
    nameOf(step, row) === "arguments" ? "values" : "results",
    ...valuesOf(step, row).map((value, i) => `${value}: ${strings[step.types[row][i]]}`),
  );
  const users = step.uses.flatMap((uses, user) => (uses.some((from, i) => i % 2 === 0 && from === row) ? [user] : []));
  add("used by", ...users.slice(0, 20).map((user) => opLink(step, user, `${step.values[user]} ${nameOf(step, user)}`.trim())));
  if (users.length > 20) add("", `and ${users.length - 20} more`);
  const owner = step.function[row];
  if (owner >= 0 && owner !== row) add("function", opLink(step, owner, step.symbol[owner]));
  add("location", ...placesOf(step, row).map((place) => strings[place] || "not known"));
  if (step.gradient[owner] !== undefined) add("derivative", step.gradient[owner]);
  if (step.primal[row] !== undefined) add("comes from", opLink(step, step.primal[row], lineOf(step, step.primal[row])));
  if (step.parent[row] >= 0) add("kernel", kernelOf(step, row));
  const measured = data.profile ? times.of(step)[row] : new Set();
  const named = [...measured].slice(0, 5).map((i) => data.profile.steps[i][0]);
  if (measured.size) add("time", times.words(measured), `measured as ${named.join(", ")}${measured.size > 5 ? ", ..." : ""}`);
  root.append(list, element("pre", {}, lineOf(step, row)));
}

// Find the ops of a step whose line or location has the text of the query.
function search(go, direction = 1) {
  const query = byId("query").value.trim().toLowerCase(),
    step = current();
  const changed = query !== state.query || step !== state.searched;
  state.query = query;
  state.searched = step;
  if (changed) {
    const has = (row) =>
      step.lines[step.line[row]].toLowerCase().includes(query) ||
      placesOf(step, row).some((place) => strings[place].toLowerCase().includes(query));
    state.matches = query ? step.op.map((_, row) => row).filter((row) => nameOf(step, row) !== "arguments" && has(row)) : [];
    state.match = -1;
  }
  if (go && state.matches.length) {
    state.match = (state.match + direction + state.matches.length) % state.matches.length;
    if (state.view === "memory" || state.view === "profile") showView("program", false);
    select(state.matches[state.match], true);
  }
  const count = state.matches.length;
  byId("found").textContent = query
    ? count
      ? `${state.match >= 0 ? `${state.match + 1} of ` : ""}${count} found`
      : "none found"
    : "";
}

const TABS = ["program", "graph", "memory", "profile"];
const KEYS = {
  "[": () => step(-1),
  "]": () => step(1),
  "/": () => byId("query").focus(),
  n: () => programPane.toDifference(1),
  p: () => programPane.toDifference(-1),
  1: () => showView("program", true),
  2: () => showView("graph", true),
  3: () => showView("memory", true),
  4: () => showView("profile", true),
};

function listen() {
  byId("tabs").addEventListener("click", (event) => {
    if (event.target.role === "tab") showView(event.target.getAttribute("aria-controls"));
  });
  byId("tabs").addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by) showView(TABS[(TABS.indexOf(state.view) + by + TABS.length) % TABS.length], true);
  });
  byId("search").addEventListener("submit", (event) => {
    event.preventDefault();
    search(true);
  });
  byId("query").addEventListener("input", () => search(false));
  byId("query").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.shiftKey) {
      event.preventDefault();
      search(true, -1);
    }
  });
  byId("all-lines").addEventListener("change", () => programPane.show(current(), byId("all-lines").checked));
  byId("next-difference").addEventListener("click", () => programPane.toDifference(1));
  byId("previous-difference").addEventListener("click", () => programPane.toDifference(-1));
  byId("help-button").addEventListener("click", () => {
    byId("help").hidden = !byId("help").hidden;
    byId("help-button").setAttribute("aria-expanded", String(!byId("help").hidden));
  });
  byId("zoom-in").addEventListener("click", () => graphPane.zoom(1.25));
  byId("zoom-out").addEventListener("click", () => graphPane.zoom(0.8));
  byId("zoom-fit").addEventListener("click", () => graphPane.fit());
  byId("close-all").addEventListener("click", () => graphPane.closeAll());
  document.addEventListener("keydown", (event) => {
    if (event.target.tagName === "INPUT" || event.ctrlKey || event.altKey || event.metaKey) return;
    if (KEYS[event.key]) {
      event.preventDefault();
      KEYS[event.key]();
    }
  });
}

function listSteps() {
  byId("steps").append(
    ...steps.map((step, i) => {
      const words = summary(step),
        [owner, stage] = step.name.includes(": ") ? step.name.split(": ") : ["", step.name];
      const about = element("small", {}, owner ? `in ${owner}: ${words}` : words);
      const button = element("button", { onclick: () => showStep(i) }, stage, about);
      return element("li", { class: words === "no change" ? "unchanged" : null }, button);
    }),
  );
  byId("changes-only").addEventListener("change", () =>
    byId("steps").classList.toggle("changes-only", byId("changes-only").checked),
  );
}

listSteps();
listen();
showStep(state.step);
