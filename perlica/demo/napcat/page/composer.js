// The message box: mentions with completion, the message being replied to, Enter to send.

import { make } from "./draw.js";
import { word } from "./words.js";

const draft = document.getElementById("draft");
const list = document.getElementById("suggestions");
const quoting = document.getElementById("quoting");
const WORD_CHARACTER = /[A-Za-z0-9_]/;

let people = [];
let marked = 0;
let quoted = null;

export const setPeople = (members) => { people = members; closeList(); };
export const quotedId = () => quoted?.id ?? null;

export function quote(message, text) {
  quoted = message;
  quoting.hidden = false;
  document.getElementById("quoting-text").textContent = word("quoting", message.name, text);
  draft.focus();
}

export function stopQuoting() {
  quoted = null;
  quoting.hidden = true;
}

export function fill(text) {
  draft.value = text;
  resize();
  draft.focus();
  draft.setSelectionRange(text.length, text.length);
}

export function insert(text) {
  const end = draft.selectionEnd;
  const gap = end && !/\s$/.test(draft.value.slice(0, end)) ? " " : "";
  draft.setRangeText(`${gap}${text}`, draft.selectionStart, end, "end");
  resize();
  draft.focus();
}

export function clear() {
  draft.value = "";
  stopQuoting();
  resize();
}

// "@名字 …" becomes a mention wherever the name is one of the group's.
export function partsOf(text) {
  const names = people.flatMap((person) => [person.name, person.nickname].map((name) => [name, person.user_id]));
  names.sort(([one], [other]) => other.length - one.length);
  const parts = [];
  let plain = "";
  const endPlain = () => { if (plain) parts.push({ kind: "text", text: plain }); plain = ""; };
  for (let at = 0; at < text.length;) {
    const hit = text[at] === "@" && names.find(([name]) => namedAt(text, at + 1, name));
    if (hit) {
      endPlain();
      parts.push({ kind: "mention", user_id: hit[1] });
      at += 1 + hit[0].length;
    } else plain += text[at++];
  }
  endPlain();
  return parts;
}

function namedAt(text, at, name) {
  if (!name || !text.startsWith(name, at)) return false;
  const next = text[at + name.length] ?? "";
  return !(WORD_CHARACTER.test(next) && WORD_CHARACTER.test(name.at(-1)));
}

function resize() {
  draft.style.height = "auto";
  draft.style.height = `${Math.min(draft.scrollHeight + 2, 180)}px`;
}

const typedName = () => draft.value.slice(0, draft.selectionStart).match(/@([^\s@]*)$/)?.[1] ?? null;

function suggest() {
  const typed = typedName();
  const fitting = typed === null ? [] : people.filter((person) => [person.name, person.nickname]
    .some((name) => name.toLowerCase().startsWith(typed.toLowerCase()) && name !== typed));
  list.replaceChildren(...fitting.map((person, at) => drawOption(person, at)));
  marked = 0;
  list.hidden = !fitting.length;
  draft.setAttribute("aria-expanded", String(!list.hidden));
  mark(0);
}

function drawOption(person, at) {
  const option = make("li", "", `@${person.name}`);
  option.id = `suggestion-${at}`;
  option.setAttribute("role", "option");
  option.append(make("small", "", person.user_id ? String(person.user_id) : ""));
  option.addEventListener("mousedown", (event) => { event.preventDefault(); choose(person); });
  option.person = person;
  return option;
}

function mark(step) {
  const options = [...list.children];
  if (!options.length) { draft.removeAttribute("aria-activedescendant"); return; }
  marked = (marked + step + options.length) % options.length;
  options.forEach((option, at) => option.setAttribute("aria-selected", String(at === marked)));
  draft.setAttribute("aria-activedescendant", options[marked].id);
}

function choose(person) {
  const end = draft.selectionStart;
  draft.setRangeText(`@${person.name} `, end - typedName().length - 1, end, "end");
  closeList();
}

function closeList() {
  list.hidden = true;
  list.replaceChildren();
  draft.setAttribute("aria-expanded", "false");
  draft.removeAttribute("aria-activedescendant");
}

function onKey(event) {
  if (event.isComposing) return;
  if (!list.hidden && handleListKey(event.key)) event.preventDefault();
  else if (event.key === "Enter" && !event.shiftKey) {
    event.preventDefault();
    draft.form.requestSubmit();
  } else if (event.key === "Escape" && quoted) stopQuoting();
}

function handleListKey(key) {
  if (key === "ArrowDown" || key === "ArrowUp") mark(key === "ArrowDown" ? 1 : -1);
  else if (key === "Enter" || key === "Tab") choose(list.children[marked].person);
  else if (key === "Escape") closeList();
  else return false;
  return true;
}

export function start(send) {
  draft.addEventListener("keydown", onKey);
  draft.addEventListener("input", () => { resize(); suggest(); });
  draft.addEventListener("blur", closeList);
  document.getElementById("stop-quoting").addEventListener("click", () => { stopQuoting(); draft.focus(); });
  draft.form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (draft.value.trim()) send(draft.value);
  });
}
