// What is known about one node: its scores, its words, and its children as a table, the twin of the drawing.
import { count, element, plural, said, score } from "./dom.js";
import { colour } from "./icicle.js";

const CHILDREN = 12;
const PAIRS = 5;

export class Panel {
  constructor(taxonomy, data, open) {
    this.taxonomy = taxonomy;
    this.data = data;
    this.open = open;
    this.element = element("div", { class: "panel", role: "region", "aria-label": "The selected node", "aria-live": "polite" });
  }

  show(node) {
    const { taxonomy } = this;
    const rows = taxonomy.rows[node];
    const share = (part, whole) => (whole ? (part / whole).toFixed(3) : "\u2013");
    const facts = [
      ["hierarchical F1", score(taxonomy.hierarchical_f1[node])],
      ["held-out rows", count(rows)],
      ["of these answered here", share(taxonomy.found[node], rows)],
      ["answers here", count(taxonomy.answered[node])],
      ["of these right", share(taxonomy.found[node], taxonomy.answered[node])],
      ["mean tree loss", score(taxonomy.loss[node])],
    ];
    if (taxonomy.trained) facts.splice(2, 0, ["rows learned from", count(taxonomy.trained[node])]);
    this.element.replaceChildren(
      element("h3", {}, said(taxonomy.label[node])),
      element("p", { class: "quiet" }, ...this.path(node)),
      element("dl", {}, ...facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])),
      ...this.words(node),
      ...this.confusions(node),
      ...this.children(node),
      ...this.examples(node),
    );
  }

  path(node) {
    const { taxonomy } = this;
    const above = taxonomy.path(node).slice(0, -1);
    const others = taxonomy.others[node] || [];
    const parts = above.flatMap((at) => [this.link(at), " \u203a "]);
    parts.push("here");
    if (others.length) parts.push("; also under ", ...others.flatMap((at, k) => (k ? [", ", this.link(at)] : [this.link(at)])));
    return parts;
  }

  link(node) {
    return element("button", { type: "button", class: "link", onclick: () => this.open(node) }, said(this.taxonomy.label[node]));
  }

  words(node) {
    const { words } = this.data;
    if (words.absent || !words.nodes[node]?.length) return [];
    const strongest = Math.max(...words.nodes[node].map(([, weight]) => Math.abs(weight)));
    const items = words.nodes[node].map(([word, weight]) => {
      const bar = element("span", { class: `weight ${weight > 0 ? "for" : "against"}`, "aria-hidden": "true" });
      bar.style.width = `${(60 * Math.abs(weight)) / strongest}px`;
      return element("li", {}, bar, said(words.features[word]), ` ${weight > 0 ? "+" : "\u2212"}${Math.abs(weight)}`);
    });
    return [element("h4", {}, `Strongest ${words.kind}s`), element("ul", { class: "weights" }, ...items)];
  }

  confusions(node) {
    const inside = (at) => this.taxonomy.path(at).includes(node);
    const found = node ? this.data.confusions.entries.filter((pair) => inside(pair.true.node) || inside(pair.answer.node)) : [];
    if (!found.length) return [];
    const items = found.slice(0, PAIRS).map((pair) =>
      element("li", {}, this.link(pair.true.node), " answered as ", this.link(pair.answer.node), `: ${plural(pair.rows, "row")}`),
    );
    const title = `Dearest confusions${found.length > PAIRS ? `, showing ${PAIRS} of ${found.length}` : ""}`;
    return [element("h4", {}, title), element("ul", {}, ...items)];
  }

  children(node, all = false) {
    const { taxonomy } = this;
    const below = taxonomy.below[node];
    if (!below.length) return [];
    const shown = all ? below : below.slice(0, CHILDREN);
    const rows = shown.map((child) =>
      element(
        "tr",
        {},
        element("th", { scope: "row" }, element("span", { class: "swatch", "data-f1": colour(taxonomy.hierarchical_f1[child]) }), this.link(child)),
        element("td", { class: "n" }, count(taxonomy.rows[child])),
        element("td", { class: "n" }, score(taxonomy.hierarchical_f1[child])),
      ),
    );
    const head = ["below it", "rows", "F1"].map((name, k) => element("th", { scope: "col", class: k ? "n" : null }, name));
    const table = element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
    const parts = [element("h4", {}, plural(below.length, "node") + " below it"), table];
    if (shown.length < below.length) {
      const more = element("button", { type: "button", onclick: () => {
        const [, whole] = this.children(node, true);
        table.replaceWith(whole);
        more.remove();
      } }, `Showing ${shown.length} of ${count(below.length)}: show all`);
      parts.push(more);
    }
    return parts;
  }

  examples(node) {
    const found = document.querySelectorAll(`.example[data-nodes*=" ${node} "]`);
    if (!node || !found.length) return [];
    const show = () => document.dispatchEvent(new CustomEvent("examples", { detail: { node, label: this.taxonomy.label[node] } }));
    return [element("button", { type: "button", onclick: show }, `Show ${plural(found.length, "example")} with this node`)];
  }
}
