// Find a node by any part of its name.
import { count, element, said } from "./dom.js";

const SHOWN = 12;

export class Search {
  constructor(taxonomy, open) {
    this.taxonomy = taxonomy;
    this.open = open;
    this.lower = null;
    this.found = [];
    this.at = -1;
    this.input = element("input", {
      type: "search",
      id: "search",
      placeholder: "Find a node",
      autocomplete: "off",
      role: "combobox",
      "aria-expanded": "false",
      "aria-controls": "matches",
      "aria-autocomplete": "list",
      "aria-label": "Find a node by its name",
      oninput: () => this.look(),
      onkeydown: (event) => this.pressed(event),
    });
    this.list = element("ul", { id: "matches", role: "listbox", "aria-label": "Nodes found", hidden: true });
    this.status = element("span", { class: "quiet", role: "status" });
    this.element = element("div", { class: "search" }, this.input, this.list, this.status);
    document.addEventListener("click", (event) => this.element.contains(event.target) || this.close());
  }

  look() {
    const wanted = this.input.value.trim().toLowerCase();
    if (!wanted) return void this.close();
    this.lower ??= this.taxonomy.label.map((label) => label.toLowerCase());
    const all = [];
    this.lower.forEach((label, node) => label.includes(wanted) && all.push(node));
    this.found = all.slice(0, SHOWN);
    this.at = this.found.length ? 0 : -1;
    this.list.replaceChildren(
      ...this.found.map((node, place) =>
        element("li", { role: "option", id: `match-${place}`, onclick: () => this.pick(place) }, said(this.taxonomy.label[node])),
      ),
    );
    this.list.hidden = !this.found.length;
    this.input.setAttribute("aria-expanded", String(this.found.length > 0));
    this.status.textContent = all.length > SHOWN ? `Showing ${SHOWN} of ${count(all.length)}` : all.length ? "" : "Nothing found";
    this.mark();
  }

  mark() {
    [...this.list.children].forEach((item, place) => item.setAttribute("aria-selected", String(place === this.at)));
    if (this.at >= 0) this.input.setAttribute("aria-activedescendant", `match-${this.at}`);
    else this.input.removeAttribute("aria-activedescendant");
  }

  pressed(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && this.found.length) {
      event.preventDefault();
      this.at = (this.at + step + this.found.length) % this.found.length;
      this.mark();
    } else if (event.key === "Enter" && this.at >= 0) {
      event.preventDefault();
      this.pick(this.at);
    } else if (event.key === "Escape") this.close();
  }

  pick(place) {
    const node = this.found[place];
    this.close();
    this.open(node);
  }

  close() {
    this.list.hidden = true;
    this.found = [];
    this.at = -1;
    this.input.setAttribute("aria-expanded", "false");
    this.status.textContent = "";
    this.mark();
  }
}
