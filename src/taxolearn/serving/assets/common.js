// What all parts of the page share. All that comes from texts and labels is set as text, never as markup.

export const $ = (id) => document.getElementById(id);
export const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
};
export const percent = (p) => (p === null || p === undefined ? "" : p > 0 && p < 0.001 ? "< 0.1%" : p < 1 && p > 0.999 ? "> 99.9%" : `${(100 * p).toFixed(1)}%`);

export const state = { model: {} }; // what the server says about its model

export async function ask(path, options = {}) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error("The server does not answer. Is it still running?");
  }
  const found = await response.json().catch(() => ({ detail: response.statusText }));
  if (!response.ok) throw new Error(sentence(found.detail));
  return found;
}
const sentence = (text) => (text ? text[0].toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".") : "Something went wrong.");
export const json = (body) => ({ method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

export function tell(problem) {
  $("problem").textContent = problem ? problem.message ?? String(problem) : "";
  $("problem").hidden = !problem;
}
