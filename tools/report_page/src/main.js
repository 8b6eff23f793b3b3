// A report's page: tables are there without this script; it adds the taxonomy to walk through, and filters examples.
import { Taxonomy } from "./taxonomy.js";
import { Icicle } from "./icicle.js";
import { Panel } from "./panel.js";
import { Search } from "./search.js";
import { filterExamples } from "./examples.js";
import { element } from "./dom.js";

const data = JSON.parse(document.getElementById("data").textContent);
const home = document.getElementById("widget-taxonomy");
if (home) {
  const taxonomy = new Taxonomy(data);
  const panel = new Panel(taxonomy, data, (node) => show(node, true));
  const icicle = new Icicle(taxonomy, (node) => panel.show(node));
  const search = new Search(taxonomy, (node) => show(node, true));

  const show = (node, focus) => {
    icicle.zoomTo(taxonomy.isLeaf(node) ? taxonomy.parent[node] : node);
    icicle.select(node, focus);
  };

  home.append(
    element("div", { class: "tools" }, search.element, icicle.sizeControl, icicle.legend),
    icicle.trail,
    element("div", { class: "side" }, icicle.element, panel.element),
    icicle.note,
  );
  show(0, false);

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-node]");
    if (!link) return;
    event.preventDefault();
    document.getElementById("taxonomy").scrollIntoView();
    show(Number(link.dataset.node), true);
  });
}
filterExamples(document.getElementById("widget-examples"));
document.documentElement.classList.add("ready");
