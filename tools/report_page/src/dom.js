// Elements are made one by one, and text is only ever set as text.

// as taxolearn.terminal: what would steer a screen is written out
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]/g;
const PAIRS = /[\ud800-\udbff][\udc00-\udfff]/g;

export function printable(text) {
  const kept = [];
  const parked = String(text).replace(PAIRS, (pair) => {
    kept.push(pair);
    return "\ufff9";
  });
  const shown = parked.replace(CONTROLS, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
  return shown.replace(/\ufff9/g, () => kept.shift() ?? "");
}

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

// a stranger's text: its direction of writing stays its own
export function said(text) {
  const made = document.createElement("bdi");
  made.textContent = printable(text);
  return made;
}

export const count = (number) => number.toLocaleString("en");
export const score = (value) => (value === null || value === undefined ? "\u2013" : value.toFixed(3));
export const plural = (number, one, many) => `${count(number)} ${number === 1 ? one : many || one + "s"}`;
