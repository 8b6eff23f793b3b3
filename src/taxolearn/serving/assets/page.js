// The page: asks the server about a text, shows what it says, and takes corrections.
import { openTable, whenOpened } from "./batch.js";
import { $, ask, json, make, percent, state, tell } from "./common.js";

const signed = (value) => (value >= 0 ? "+" : "\u2212") + Math.abs(value).toFixed(2);
const INTERCEPT = "(intercept)";

let shown = null; // the explanation on the screen
let asked = ""; // its text
let answered = null; // the explanation of the answer itself
let level = 0; // the node of the path whose words are shown
let chosen = []; // labels of a correction
let lastAsked = 0;

const say = (text) => { $("status").textContent = text; };

// ---- the answer to one text

async function classify(text) {
  const turn = ++lastAsked;
  tell(null); say("");
  if (!text.trim()) { tell("Please type or paste a text first."); $("text").focus(); return; }
  $("classify").disabled = true;
  try {
    const found = await ask("/v1/explain", json({ text }));
    if (turn !== lastAsked) return;
    asked = text;
    answered = found;
    show(found);
    closeCorrection();
    $("result").hidden = false;
    $("answer-title").focus();
  } catch (problem) {
    if (turn === lastAsked) tell(problem);
  } finally {
    $("classify").disabled = false;
  }
}

function show(found) {
  shown = found;
  level = Math.max(0, found.nodes.length - 1);
  const isAnswer = found.predicted.some((one) => one.name === found.name);
  const none = state.model.several_labels && !found.predicted.length;
  $("answer-kind").textContent = isAnswer ? "Answer" : none ? "No label is sure enough; the nearest is" : "Runner-up, not the answer";
  $("answer-title").replaceChildren(found.title, code(found) ?? "");
  $("guess").hidden = found.known;
  $("guess").textContent = found.known ? "" : "The model knows no word of this text; its answer is a guess.";
  showLabels(found);
  showPath(found);
  showStop(found);
  $("no-probabilities").textContent = plain(found.no_probabilities);
  showWords();
  showOthers(found);
  $("accept").disabled = false;
  $("accept").textContent = isAnswer || none ? "Yes, accept" : "Save this one";
  $("accept").hidden = none;
  $("feedback").hidden = !state.model.takes_corrections;
  $("feedback-title").textContent = isAnswer ? "Is this right?" : "Is this the right one?";
}

const plain = (text) => (text ?? "").replaceAll("`", "");
const LONGEST_CODE = 100;
const code = (node) => {
  const written = node.notation ?? node.name;
  if (node.name === node.title || node.name.endsWith(node.title) || written.length > LONGEST_CODE) return null;
  return make("span", { className: "code" }, ` ${written}`);
};

function showLabels(found) {
  const several = state.model.several_labels && found.predicted.length > 1;
  $("labels").hidden = !several;
  $("labels").replaceChildren(...(several ? found.predicted : []).map((one) => {
    const pick = make("button", { type: "button", className: "pick", textContent: one.label });
    pick.setAttribute("aria-pressed", String(one.name === found.name));
    pick.addEventListener("click", () => explain(one.name));
    return make("li", {}, pick);
  }));
}

function meter(p) {
  const fill = make("span", { className: "fill" });
  fill.style.width = `${100 * p}%`;
  const track = make("span", { className: "track" }, fill);
  track.setAttribute("aria-hidden", "true");
  return make("span", { className: "meter" }, track, make("b", { textContent: percent(p) }));
}

function showPath(found) {
  const stopAt = found.stop ? found.path.findIndex((node) => node.name === found.stop.name) : -1;
  const items = [];
  found.path.forEach((node, place) => {
    const facts = found.nodes[place];
    const lead = facts && node.probability === null && facts.margin !== null && facts.runner_up
      ? `${facts.margin >= 0 ? "ahead of" : "behind"} ${facts.runner_up.title} by ${Math.abs(facts.margin).toFixed(2)}` : "";
    const button = make("button", { type: "button", className: "node" },
      make("span", {}, make("span", { className: "title", textContent: node.title }), code(node), lead ? make("small", { textContent: lead }) : null),
      isRoot(node) ? "" : node.probability === null ? make("span", { className: "lead", textContent: facts && place === found.path.length - 1 ? `score ${facts.score.toFixed(2)}` : "" }) : meter(node.probability));
    button.setAttribute("aria-pressed", String(place === level));
    button.addEventListener("click", () => { level = Math.min(place, found.nodes.length - 1); press(place); showWords(); });
    const beside = (facts?.siblings ?? []).filter((other) => other.probability >= 0.0005).map((other) => `${other.title} ${percent(other.probability)}`);
    const item = make("li", {}, button, beside.length ? make("span", { className: "others-here", textContent: `Beside it: ${beside.join(" \u00b7 ")}` }) : null);
    if (isRoot(node)) item.className = "root";
    if (stopAt >= 0 && place > stopAt) item.className = "unsure";
    if (place === stopAt) {
      item.append(make("div", { className: "cut", textContent: place === found.path.length - 1 ? "A 95% answer goes all the way down to here" : "A 95% answer stops here" }));
    }
    items.push(item);
  });
  $("path").replaceChildren(...items);
}

const press = (place) => document.querySelectorAll("#path .node").forEach((button, k) => button.setAttribute("aria-pressed", String(k === place)));

function showStop(found) {
  if (!found.stop) { $("stop").textContent = plain(found.no_stop); return; }
  const onPath = found.path.some((node) => node.name === found.stop.name);
  const end = found.stop.further ? `The next step, to ${found.stop.further.title}, is not sure enough.` : "";
  const start = "For 95 of 100 texts like those it was calibrated on, the right label lies at or below such an answer.";
  $("stop").textContent = onPath ? `${start} ${end}` : `A 95% answer is ${found.stop.title}. ${end}`;
}

// ---- words

function showWords() {
  const node = shown.nodes[level];
  if (!node) { $("why").hidden = true; return; }
  $("why").hidden = false;
  const compared = node.margin !== null && node.runner_up;
  const terms = compared ? node.deciding_words ?? node.deciding : node.words ?? node.contributions;
  const named = (terms ?? []).map((one) => ({ word: one.word ?? one.feature, value: one.value }));
  const left = compared ? node.deciding_words_left_out ?? node.deciding_left_out : node.words_left_out ?? node.contributions_left_out;
  $("why-what").textContent = compared ? `${node.title}, against ${node.runner_up.title}` : `The score of ${node.title}`;
  const words = named.filter((one) => one.word !== INTERCEPT);
  const inText = compared ? node.deciding_words : node.words;
  $("marked").hidden = $("legend").hidden = !inText;
  if (inText) mark(words);
  list(words, named.find((one) => one.word === INTERCEPT));
  const long = shown.long ? "In a text of this length words are not marked. " : "";
  $("words-note").textContent = long + (left ? `The strongest ${named.length} of ${named.length + left} words are shown.` : "");
}

function mark(words) {
  const most = Math.max(...words.map((one) => Math.abs(one.value)), 1e-9);
  const parts = [];
  let at = 0;
  for (const { word, value } of words) {
    const place = asked.indexOf(word, at);
    if (place < 0) continue;
    if (Math.abs(value) > 0.02 * most) {
      if (place > at) parts.push(asked.slice(at, place));
      const marked = make("mark", { textContent: word, title: `${word} ${signed(value)}`, className: value < 0 ? "against" : "for" });
      marked.style.setProperty("--strength", Math.max(0.15, Math.abs(value) / most).toFixed(2));
      parts.push(marked);
    } else {
      parts.push(asked.slice(at, place + word.length));
    }
    at = place + word.length;
  }
  const end = asked.slice(at);
  $("marked").replaceChildren(...parts, end.length > 20000 ? `${end.slice(0, 20000)} \u2026` : end);
}

function list(words, start) {
  const sums = new Map();
  for (const { word, value } of words) sums.set(word.toLowerCase(), (sums.get(word.toLowerCase()) ?? 0) + value);
  const all = [...sums].filter(([, value]) => Math.abs(value) >= 0.005).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
  const rows = all.slice(0, 8);
  const rest = all.slice(8).reduce((sum, [, value]) => sum + value, 0);
  if (all.length > 8) rows.push([`${all.length - 8} others`, rest]);
  if (start && start.value) rows.push(["where it starts", start.value]);
  const most = Math.max(...rows.map(([, value]) => Math.abs(value)), 1e-9);
  $("words").replaceChildren(...rows.map(([word, value]) => {
    const fill = make("span", { className: value < 0 ? "fill against" : "fill" });
    const width = 50 * Math.abs(value) / most;
    fill.style.left = `${value < 0 ? 50 - width : 50}%`;
    fill.style.width = `${width}%`;
    const track = make("span", { className: "track" }, fill);
    track.setAttribute("aria-hidden", "true");
    return make("div", { className: "word" }, make("span", { textContent: word.replace(/^word: /, "") }), track, make("span", { className: "number", textContent: signed(value) }));
  }));
  if (!rows.length) $("words").replaceChildren(make("p", { className: "hint", textContent: "No word of this text says anything here." }));
}

// ---- runners-up

function showOthers(found) {
  const names = new Set([found.name]);
  const others = found === answered ? found.runners_up : [asRunnerUp(answered), ...answered.runners_up];
  $("others").hidden = !others.length;
  $("others-title").textContent = found === answered ? "Runners-up" : "The answer and its runners-up";
  $("runners-up").replaceChildren(...others.filter((one) => !names.has(one.name)).map((one) => {
    const why = make("button", { type: "button", className: "small", textContent: "Look at it" });
    why.setAttribute("aria-label", `Look at ${one.title}`);
    why.addEventListener("click", () => (one.name === answered.name ? (show(answered), $("answer-title").focus()) : explain(one.name)));
    const right = make("button", { type: "button", className: "small", textContent: "This is right" });
    right.setAttribute("aria-label", `This is right: ${one.title}`);
    right.hidden = !state.model.takes_corrections || state.model.several_labels;
    right.addEventListener("click", () => save([one]));
    return make("li", {},
      make("div", { className: "top" },
        make("div", {}, make("strong", { textContent: one.title }), code(one)),
        one.probability === null ? make("span", { className: "score", textContent: `score ${one.score.toFixed(2)}` }) : meter(one.probability)),
      crumbs(one.path),
      make("div", { className: "row" }, why, right));
  }));
}

const asRunnerUp = (found) => ({ ...found });
const isRoot = (node) => node.name === state.model.taxonomy?.root;
const crumbs = (path) => make("span", { className: "crumbs", textContent: path.slice(0, -1).filter((node) => !isRoot(node)).map((node) => node.title).join(" \u203a ") });

async function explain(label) {
  tell(null);
  try {
    show(await ask("/v1/explain", json({ text: asked, label })));
    $("answer-title").focus();
  } catch (problem) {
    tell(problem);
  }
}

// ---- corrections

async function save(labels) {
  tell(null);
  try {
    const found = await ask("/v1/corrections", json({ text: asked, labels: labels.map((one) => one.name) }));
    closeCorrection();
    $("accept").disabled = true;
    say(`Saved as ${found.saved.map((one) => one.title).join(", ")}.`);
  } catch (problem) {
    tell(problem);
  }
}

function openCorrection() {
  $("correction").hidden = false;
  $("correct").setAttribute("aria-expanded", "true");
  chosen = state.model.several_labels ? answered.predicted.map((one) => ({ name: one.name, title: one.label })) : [];
  showChosen();
  $("search").value = "";
  $("search").focus();
}

function closeCorrection() {
  $("correction").hidden = true;
  $("correct").setAttribute("aria-expanded", "false");
  closeFound();
}

function showChosen() {
  $("chosen").replaceChildren(...chosen.map((one) => {
    const remove = make("button", { type: "button", textContent: "\u00d7" });
    remove.setAttribute("aria-label", `Remove ${one.title}`);
    remove.addEventListener("click", () => { chosen = chosen.filter((other) => other !== one); showChosen(); $("search").focus(); });
    return make("li", {}, one.title, remove);
  }));
  $("save").disabled = !chosen.length;
}

function choose(node) {
  if (!state.model.several_labels) chosen = [node];
  else if (!chosen.some((one) => one.name === node.name)) chosen.push(node);
  showChosen();
  $("search").value = "";
  closeFound();
  (state.model.several_labels ? $("search") : $("save")).focus();
}

let options = [];
let active = -1;
let searching = 0;
let timer = 0;

function closeFound() {
  $("found").hidden = true;
  $("found").replaceChildren();
  $("found-note").textContent = "";
  $("search").setAttribute("aria-expanded", "false");
  $("search").removeAttribute("aria-activedescendant");
  options = []; active = -1; searching++;
}

async function search() {
  const turn = ++searching;
  const letters = $("search").value.trim();
  if (!letters) { closeFound(); return; }
  try {
    const found = await ask(`/v1/nodes?limit=20&q=${encodeURIComponent(letters)}`);
    if (turn !== searching) return;
    options = found.nodes;
    $("found").replaceChildren(...options.map((node, place) => {
      const item = make("li", { id: `found-${place}` }, make("strong", { textContent: node.title }), code(node), crumbs(node.path));
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", "false");
      item.addEventListener("mousedown", (event) => { event.preventDefault(); choose(node); });
      return item;
    }));
    $("found").hidden = !options.length;
    $("search").setAttribute("aria-expanded", String(options.length > 0));
    $("found-note").textContent = options.length ? `Showing ${options.length} of ${found.total.toLocaleString("en")}; arrow keys choose.` : "Nothing is called so.";
    point(options.length ? 0 : -1);
  } catch (problem) {
    tell(problem);
  }
}

function point(place) {
  active = place;
  [...$("found").children].forEach((item, k) => item.setAttribute("aria-selected", String(k === place)));
  if (place < 0) { $("search").removeAttribute("aria-activedescendant"); return; }
  $("search").setAttribute("aria-activedescendant", `found-${place}`);
  $(`found-${place}`).scrollIntoView({ block: "nearest" });
}

// ---- the start

$("form").addEventListener("submit", (event) => { event.preventDefault(); classify($("text").value); });
$("text").addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); classify($("text").value); } });
$("accept").addEventListener("click", () => {
  const isAnswer = shown.predicted.some((one) => one.name === shown.name);
  save(isAnswer ? shown.predicted.map((one) => ({ name: one.name })) : [shown]);
});
$("correct").addEventListener("click", () => ($("correction").hidden ? openCorrection() : closeCorrection()));
$("cancel").addEventListener("click", () => { closeCorrection(); $("correct").focus(); });
$("save").addEventListener("click", () => save(chosen));
$("search").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(search, 120); });
$("search").addEventListener("keydown", (event) => {
  if (event.key === "Escape") { closeFound(); return; }
  if (!options.length) return;
  if (event.key === "ArrowDown") point((active + 1) % options.length);
  else if (event.key === "ArrowUp") point((active + options.length - 1) % options.length);
  else if (event.key === "Enter" && active >= 0) choose(options[active]);
  else return;
  event.preventDefault();
});
$("file").addEventListener("change", () => { if ($("file").files.length) openTable($("file").files[0]); $("file").value = ""; });
document.addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("dropping"); });
document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("dropping"); });
document.addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("dropping");
  const [file] = event.dataTransfer.files;
  if (file) openTable(file);
  else if (event.dataTransfer.getData("text")) $("text").value = event.dataTransfer.getData("text");
});

async function start() {
  try {
    state.model = await ask("/v1/model");
  } catch (problem) {
    tell(problem);
    return;
  }
  const number = (n) => n.toLocaleString("en");
  document.title = `${state.model.project_id} \u00b7 taxolearn`;
  $("model-name").textContent = state.model.project_id;
  const tree = state.model.taxonomy;
  const several = state.model.several_labels ? "several labels per text" : "one label per text";
  $("model-facts").textContent = [`${number(state.model.classes)} labels`, tree ? `${number(tree.nodes)} nodes, ${tree.depth + 1} levels` : "no taxonomy", several].join(" \u00b7 ");
  const rows = state.model.data?.rows ? `, learned from ${number(state.model.data.rows)} rows` : "";
  $("footer").textContent = `taxolearn ${state.model.version}, ${state.model.method}${rows}`;
  if (!state.model.reads_texts) {
    $("text-label").textContent = "Row to classify";
    $("hint").textContent = state.model.takes;
  }
  $("feedback").hidden = !state.model.takes_corrections;
}
whenOpened(classify);
start();
