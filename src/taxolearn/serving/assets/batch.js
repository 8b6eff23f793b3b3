// A dropped file: its rows with their answers, some at a time.
import { $, ask, make, percent, state, tell } from "./common.js";

const ROWS = 50; // on the screen
let file = null;
let table = null;
let order = [];
let first = 0;
let open = () => {};

export const whenOpened = (callback) => { open = callback; };

export async function openTable(given, column = "") {
  tell(null);
  file = given;
  $("status").textContent = `Reading ${given.name} \u2026`;
  const most = state.model.limits.body_bytes;
  try {
    if (given.size > most) throw new Error(`The file has ${given.size.toLocaleString("en")} bytes, and ${most.toLocaleString("en")} are allowed; give fewer rows, or use taxolearn predict.`);
    const body = await given.arrayBuffer();
    const asked = `/v1/table?name=${encodeURIComponent(given.name)}&text=${encodeURIComponent(column)}`;
    table = await ask(asked, { method: "POST", headers: { "Content-Type": "application/octet-stream" }, body });
  } catch (problem) {
    tell(problem);
    return;
  } finally {
    $("status").textContent = "";
  }
  $("column-choice").hidden = !state.model.reads_texts || table.columns.length < 2;
  $("column").replaceChildren(...table.columns.map((name) => make("option", { value: name, textContent: name, selected: name === table.text })));
  $("batch-title").textContent = `${given.name}: ${table.rows.length.toLocaleString("en")} rows`;
  $("batch-score").textContent = state.model.probabilities ? "Probability" : "Score";
  const notes = [];
  if (table.left_out) notes.push(`${table.left_out.toLocaleString("en")} rows could not be read and are left out; taxolearn check says why.`);
  if (table.more) notes.push(`Only the first ${table.rows.length.toLocaleString("en")} rows are answered here; taxolearn predict answers all.`);
  $("batch-note").textContent = notes.join(" ");
  sort();
  $("batch").hidden = false;
  $("batch-title").focus();
}

// The names above a label; the root says nothing.
const above = (path) => path.slice(path[0] === state.model.taxonomy?.title ? 1 : 0, -1);
const sure = (row) => (row.answers.length ? Math.min(...row.answers.map((one) => one.probability ?? one.raw_score)) : -Infinity);

function sort() {
  order = table.rows.map((_, place) => place);
  if ($("order").value === "doubt") order.sort((a, b) => sure(table.rows[a]) - sure(table.rows[b]) || a - b);
  first = 0;
  showRows();
}

function showRows() {
  const some = order.slice(first, first + ROWS);
  $("batch-rows").replaceChildren(...some.map((place) => {
    const row = table.rows[place];
    const button = make("button", { type: "button", className: "small", textContent: "Open" });
    button.setAttribute("aria-label", `Open row ${place + 1}`);
    button.addEventListener("click", () => { $("text").value = row.text; open(row.text); });
    const answers = row.answers.length ? row.answers.map((one) => make("div", {}, make("strong", { textContent: one.label }), make("span", { className: "crumbs", textContent: above(one.path).join(" \u203a ") }))) : ["no label is sure enough"];
    const values = row.answers.map((one) => make("div", { textContent: one.probability === null ? one.raw_score.toFixed(2) : percent(one.probability) }));
    return make("tr", {},
      make("td", { className: "narrow", textContent: String(place + 1) }),
      make("td", { className: "text" }, make("div", { textContent: row.text.length > 400 ? `${row.text.slice(0, 400)} \u2026` : row.text })),
      make("td", {}, ...answers),
      make("td", { className: "number" }, ...values),
      make("td", { className: "narrow" }, button));
  }));
  $("shown").textContent = order.length ? `Showing ${first + 1} to ${first + some.length} of ${order.length.toLocaleString("en")}` : "There are no rows.";
  $("before").disabled = first === 0;
  $("after").disabled = first + ROWS >= order.length;
}

// Cells that a spreadsheet would take for a formula get an apostrophe, as `predict --csv-safe` writes them.
const cell = (value) => {
  const text = String(value ?? "");
  const safe = /^[=+\-@\t\r]/.test(text) && !/^-?\d+(\.\d+)?(e-?\d+)?$/i.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

function download() {
  const lines = [["row", "text", "label", "path", "score", "probability"]];
  table.rows.forEach((row, place) => {
    for (const one of row.answers.length ? row.answers : [{}]) {
      lines.push([place + 1, row.text, one.name, one.path?.join("/"), one.raw_score, one.probability]);
    }
  });
  const content = lines.map((cells) => cells.map(cell).join(",")).join("\n");
  const link = make("a", { href: URL.createObjectURL(new Blob([`${content}\n`], { type: "text/csv" })), download: `${file.name.replace(/\.\w+$/, "")}-answers.csv` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

$("order").addEventListener("change", sort);
$("column").addEventListener("change", () => openTable(file, $("column").value));
$("download").addEventListener("click", download);
$("close-batch").addEventListener("click", () => { $("batch").hidden = true; $("text").focus(); });
$("before").addEventListener("click", () => { first = Math.max(0, first - ROWS); showRows(); });
$("after").addEventListener("click", () => { first += ROWS; showRows(); });
