// Examples stand in the page as they are; here they are filtered.
import { count, element, printable } from "./dom.js";

export function filterExamples(home) {
  const all = [...document.querySelectorAll(".example")];
  if (!home || !all.length) return;
  let node = null;
  const status = element("span", { class: "quiet", role: "status" });
  const kind = element(
    "select",
    { onchange: () => update() },
    ...[["all", "all"], ["0", "wrong ones"], ["1", "right ones"]].map(([value, name]) => element("option", { value }, name)),
  );
  const words = element("input", { type: "search", "aria-label": "Examples with these words", placeholder: "Find words", oninput: () => update() });
  const clear = element("button", { type: "button", hidden: true, onclick: () => choose(null) }, "All nodes");
  home.append(element("div", { class: "tools" }, element("label", {}, "Show ", kind), words, clear, status));

  const choose = (wanted) => {
    node = wanted;
    clear.hidden = node === null;
    update();
  };
  const update = () => {
    const wanted = words.value.trim().toLowerCase();
    let shown = 0;
    for (const one of all) {
      const fits =
        (kind.value === "all" || one.dataset.right === kind.value) &&
        (node === null || one.dataset.nodes.includes(` ${node.node} `)) &&
        (!wanted || one.textContent.toLowerCase().includes(wanted));
      one.hidden = !fits;
      shown += fits;
    }
    const of = node === null ? "" : ` with \u201c${printable(node.label)}\u201d`;
    status.textContent = shown < all.length || node !== null ? `Showing ${count(shown)} of ${count(all.length)}${of}` : "";
  };
  document.addEventListener("examples", (event) => {
    choose(event.detail);
    document.getElementById("examples").scrollIntoView();
    const first = all.find((one) => !one.hidden);
    if (first) {
      first.open = true;
      first.querySelector("summary").focus({ preventScroll: true });
    }
  });
  window.addEventListener("beforeprint", () => all.slice(0, 10).forEach((one) => (one.open = true)));
}
