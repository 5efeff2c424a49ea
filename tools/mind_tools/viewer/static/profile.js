"use strict";
// The profile of a run over the ops of a step: an op has the time of the measured steps that have its location.

class Times {
  constructor(profile, strings) {
    Object.assign(this, { profile, strings, total: 0, byPlace: new Map(), known: new Map() });
    if (!profile) return;
    profile.steps.forEach(([, time, , places], i) => {
      this.total += time;
      for (const place of places) {
        if (!this.byPlace.has(place)) this.byPlace.set(place, []);
        this.byPlace.get(place).push(i);
      }
    });
  }

  // The measured steps of each row of a program, those of all that it holds included; sets of their numbers.
  of(step) {
    if (this.known.has(step)) return this.known.get(step);
    const found = step.op.map(() => new Set());
    const ran = step.symbol ? Object.values(step.symbol).includes(this.profile.function) : false;
    for (let row = step.op.length - 1; row >= 0; row--) {
      const inside = !ran || step.symbol[step.function[row]] === this.profile.function;
      if (inside && row !== step.function[row]) {
        for (const place of placesOf(step, row)) for (const i of this.byPlace.get(place) || []) found[row].add(i);
      }
      if (step.parent[row] >= 0) for (const i of found[row]) found[step.parent[row]].add(i);
    }
    this.known.set(step, found);
    return found;
  }

  time(numbers) {
    let sum = 0;
    for (const i of numbers) sum += this.profile.steps[i][1];
    return sum;
  }

  share(numbers) {
    return this.profile && this.total ? this.time(numbers) / this.total : 0;
  }

  // The measured steps of a box of the graph; a run has those of its members.
  ofBox(box, step) {
    if (!this.profile) return new Set();
    if (box.row >= 0) return this.of(step)[box.row];
    return new Set(box.children.flatMap((child) => [...this.ofBox(child, step)]));
  }

  words(numbers) {
    return `${microseconds(this.time(numbers))}, ${percent(this.share(numbers))}`;
  }

  // The table of the measured steps, the slowest first; `show` goes to a row of the program.
  table(step, show) {
    const rowOf = new Map(),
      outer = new Set(step.parent);
    this.of(step).forEach((numbers, row) => {
      if (!outer.has(row)) for (const i of numbers) if (!rowOf.has(i)) rowOf.set(i, row);
    });
    const order = this.profile.steps.map((_, i) => i).sort((a, b) => this.profile.steps[b][1] - this.profile.steps[a][1]);
    const lines = order.slice(0, MOST_TIMES).map((i) => {
      const [name, time, bytes, places] = this.profile.steps[i],
        row = rowOf.get(i);
      const where = places.map((place) => this.strings[place]).join(", ");
      const label = `${percent(this.share([i]))} of all steps`;
      const op = row === undefined ? where : element("button", { class: "link", onclick: () => show(row) }, where);
      const meter = element("meter", { min: 0, max: 1, value: this.share([i]), "aria-label": label });
      return [name, microseconds(time), [meter, ` ${percent(this.share([i]))}`], bytes.toLocaleString("en"), op];
    });
    const head = element("tr", {}, ...["step", "time", "share", "bytes", "op"].map((name) => element("th", { scope: "col" }, name)));
    const body = lines.map((cells) => element("tr", {}, ...cells.map((cell) => element("td", {}, ...[cell].flat()))));
    return element("table", {}, element("thead", {}, head), element("tbody", {}, ...body));
  }
}

const placesOf = (step, row) => step.origins[row] || [step.location[row]]; // of a kernel of several ops, all of theirs
const MOST_TIMES = 500; // rows of the table
const microseconds = (time) => `${time.toFixed(2)} \u00b5s`;
const percent = (share) => `${(100 * share).toFixed(1)} %`;
