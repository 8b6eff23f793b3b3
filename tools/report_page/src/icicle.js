// The taxonomy as an icicle: levels from left to right, as high as they have rows, coloured by hierarchical F1.
// Only what is large enough to be seen is drawn. Arrow keys walk, Enter zooms in, Escape out.
import { count, element, printable, said, score } from "./dom.js";

const LEVELS = 4; // that are drawn at a time
const LEAST = 3; // pixels below which a node is not drawn
const BOUNDS = [0.3, 0.5, 0.7, 0.8, 0.9, 0.95]; // between seven colours: good models differ at the upper end

export const colour = (f1) => (f1 === null ? "none" : String(BOUNDS.filter((bound) => f1 >= bound).length));

export class Icicle {
  constructor(taxonomy, onSelect) {
    this.taxonomy = taxonomy;
    this.onSelect = onSelect;
    this.focus = 0;
    this.selected = 0;
    this.cells = new Map();
    this.element = element("div", {
      class: "icicle",
      role: "tree",
      "aria-label": "Taxonomy. Arrow keys walk, Enter zooms in, Escape zooms out, Home goes to the root.",
      onclick: (event) => this.clicked(event),
      onkeydown: (event) => this.pressed(event),
    });
    this.trail = element("nav", { class: "trail", "aria-label": "Path to what is shown" });
    this.note = element("p", { class: "quiet", "aria-live": "polite" });
    this.sizeControl = this.makeSizeControl();
    this.legend = this.makeLegend();
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  makeSizeControl() {
    const choices = [["rows", "held-out rows"], ["nodes", "leaves"]];
    if (this.taxonomy.trained) choices.splice(1, 0, ["trained", "rows learned from"]);
    const select = element(
      "select",
      {
        onchange: () => {
          this.taxonomy.sizedBy = select.value;
          this.taxonomy.layOut();
          this.draw();
        },
      },
      ...choices.map(([value, name]) => element("option", { value }, name)),
    );
    return element("label", {}, "Sized by ", select);
  }

  makeLegend() {
    const steps = [0, ...BOUNDS].flatMap((bound, step) => [
      step ? ` ${bound} ` : "",
      element("span", { class: "swatch", "data-f1": String(step) }),
    ]);
    const said = "Colours: hierarchical F1 from low, orange, to high, blue; grey without rows";
    const none = element("span", { class: "swatch", "data-f1": "none" });
    return element("span", { class: "legend", role: "img", "aria-label": said }, "hierarchical F1: worse ", ...steps, " better \u2003", none, " no rows");
  }

  zoomTo(node) {
    this.focus = Math.max(0, node);
    this.draw();
  }

  select(node, focus) {
    this.selected = node;
    if (!this.cells.has(node) && node !== this.focus) {
      const parent = this.taxonomy.parent[node];
      if (parent >= 0) this.zoomTo(parent);
    }
    this.drawSelected(node);
    for (const [at, cell] of this.cells) {
      cell.tabIndex = at === node ? 0 : -1;
      cell.setAttribute("aria-selected", String(at === node));
    }
    if (focus) this.cells.get(node)?.focus({ preventScroll: true });
    this.onSelect(node);
  }

  // a selected node that is too small to be seen is drawn all the same
  drawSelected(node) {
    if (this.cells.has(node)) return;
    const cell = this.cell(node, 0, true);
    if (cell) this.element.append(cell);
  }

  draw() {
    const { taxonomy, focus, element: home } = this;
    const height = home.clientHeight;
    if (!height) return;
    const hadFocus = home.contains(document.activeElement);
    this.cells.clear();
    this.top = taxonomy.from[focus];
    this.scale = height / Math.max(taxonomy.to[focus] - this.top, 1e-12);
    this.columns = Math.min(LEVELS, this.depthBelow(focus) + 1);
    const drawn = [];
    let hidden = 0;
    const visit = (node, level) => {
      const cell = this.cell(node, level, false);
      if (!cell) return void (hidden += 1);
      drawn.push(cell);
      if (level + 1 < this.columns) for (const child of taxonomy.below[node]) visit(child, level + 1);
    };
    visit(focus, 0);
    home.replaceChildren(...drawn);
    this.drawSelected(this.selected);
    const current = this.cells.get(this.selected) || this.cells.get(focus);
    if (current) current.tabIndex = 0;
    if (hadFocus) current?.focus({ preventScroll: true });
    this.drawTrail();
    const shown = this.cells.size;
    const small = hidden ? " Others are too small or too deep to be seen: zoom in, or search." : "";
    this.note.textContent = `Showing ${count(shown)} of ${count(taxonomy.size)} nodes.${shown < taxonomy.size ? small || " Zoom in to see more." : ""}`;
  }

  depthBelow(node) {
    const { below } = this.taxonomy;
    let depth = 0;
    for (let row = [node]; row.length; depth++) {
      row = row.flatMap((at) => below[at]);
      if (depth >= LEVELS) break;
    }
    return depth - 1;
  }

  cell(node, level, always) {
    const { taxonomy } = this;
    const high = (taxonomy.to[node] - taxonomy.from[node]) * this.scale;
    if (high < LEAST && node !== this.focus && !always) return null;
    const column = always ? taxonomy.level[node] - taxonomy.level[this.focus] : level;
    if (column < 0 || column >= this.columns) return null;
    const f1 = taxonomy.hierarchical_f1[node];
    const label = printable(taxonomy.label[node]);
    const rows = taxonomy.rows[node];
    const inner = taxonomy.below[node].length > 0;
    const made = element("div", {
      class: high >= 20 ? "cell tall" : "cell",
      role: "treeitem",
      "data-node": node,
      "data-f1": colour(f1),
      "aria-level": taxonomy.level[node] + 1,
      "aria-selected": String(node === this.selected),
      "aria-expanded": inner ? String(column + 1 < this.columns) : null,
      "aria-label": `${label}: hierarchical F1 ${score(f1)}, ${count(rows)} ${rows === 1 ? "row" : "rows"}`,
      title: `${label}\nhierarchical F1 ${score(f1)}, ${count(rows)} held-out rows`,
      tabindex: "-1",
    });
    const gap = high > 8 ? 1 : 0;
    // the first column, which is named above, may be narrow
    const first = this.columns > 1 ? 12 : 100;
    const wide = (100 - first) / Math.max(1, this.columns - 1);
    made.style.left = `${column ? first + (column - 1) * wide : 0}%`;
    made.style.width = `calc(${column ? wide : first}% - 2px)`;
    made.style.top = `${(taxonomy.from[node] - this.top) * this.scale}px`;
    made.style.height = `${Math.max(high - gap, always ? 3 : 1)}px`;
    if (high >= 14) {
      const name = said(taxonomy.label[node]);
      const value = element("span", { class: "value" }, f1 === null ? "" : f1.toFixed(2));
      made.append(element("span", { class: "name", "aria-hidden": "true" }, name), value);
    }
    this.cells.set(node, made);
    return made;
  }

  drawTrail() {
    const path = this.taxonomy.path(this.focus);
    const steps = path.map((node, place) =>
      place === path.length - 1
        ? element("b", {}, said(this.taxonomy.label[node]))
        : element("button", { type: "button", onclick: () => this.open(node) }, said(this.taxonomy.label[node])),
    );
    this.trail.replaceChildren(...steps.flatMap((step, place) => (place ? [" \u203a ", step] : [step])));
  }

  open(node) {
    this.zoomTo(node);
    this.select(node, true);
  }

  clicked(event) {
    const cell = event.target.closest(".cell");
    if (!cell) return;
    const node = Number(cell.dataset.node);
    if (node === this.focus && node > 0) this.open(this.taxonomy.parent[node]);
    else if (this.taxonomy.below[node].length) this.open(node);
    else this.select(node, true);
  }

  pressed(event) {
    const move = {
      ArrowRight: () => this.taxonomy.below[this.selected][0],
      ArrowLeft: () => this.taxonomy.parent[this.selected],
      ArrowDown: () => this.beside(1),
      ArrowUp: () => this.beside(-1),
      Home: () => 0,
    }[event.key];
    if (move) {
      event.preventDefault();
      this.walkTo(move());
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      if (this.taxonomy.below[this.selected].length) this.open(this.selected);
    } else if (event.key === "Escape" || event.key === "Backspace") {
      event.preventDefault();
      const parent = this.taxonomy.parent[this.focus];
      if (parent >= 0) this.open(parent);
    }
  }

  beside(step) {
    const { parent, below } = this.taxonomy;
    if (parent[this.selected] < 0) return undefined;
    const siblings = below[parent[this.selected]];
    return siblings[siblings.indexOf(this.selected) + step];
  }

  walkTo(node) {
    if (node === undefined || node < 0) return;
    const level = this.taxonomy.level[node] - this.taxonomy.level[this.focus];
    const inside = this.taxonomy.path(node).includes(this.focus);
    if (!inside || level >= this.columns) this.zoomTo(inside ? this.taxonomy.parent[node] : node);
    this.select(node, true);
  }
}
