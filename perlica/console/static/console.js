// Keeps an open page fresh: asks for the same address again and puts in what changed.
// Without it every page works, only not by itself. No markup is ever made from text here: the browser
// parses the answer into a document of its own, in which nothing runs, and parts of it are moved over.

const bar = document.getElementById("live-bar");
const text = document.getElementById("live-text");
const toggle = document.getElementById("live-toggle");
const news = document.getElementById("news");
const everyMs = Number(document.body.dataset.refreshMs) || 2000;
const slowestMs = 60_000;

let tag = "";
let timer = 0;
let failures = 0;
let paused = sessionStorage.getItem("paused") === "yes";
let ended = false;

function say(word) {
  text.textContent = bar.dataset[word];
  bar.classList.toggle("paused", paused);
  bar.classList.toggle("lost", word === "lost" || word === "login");
  toggle.hidden = ended;
  toggle.textContent = bar.dataset[paused ? "resume" : "pause"];
}

function plan() {
  clearTimeout(timer);
  if (paused || ended || document.hidden) return;
  timer = setTimeout(ask, Math.min(everyMs * 2 ** failures, slowestMs));
}

function ask() {
  const request = new XMLHttpRequest();
  request.open("GET", location.pathname + location.search);
  request.responseType = "document";
  request.timeout = slowestMs;
  request.setRequestHeader("X-Console-Part", "live");
  if (tag) request.setRequestHeader("If-None-Match", tag);
  request.onload = () => take(request);
  request.onerror = request.ontimeout = lose;
  request.send();
}

function take(request) {
  if (paused) return;
  if (request.status === 401) {
    ended = true;
    say("login");
  } else if (request.status === 200 || request.status === 304 || request.status === 404) {
    failures = 0;
    say("on");
    if (request.status === 200 && request.response) {
      tag = request.getResponseHeader("ETag") || "";
      replace(request.response);
    }
  } else {
    lose();
    return;
  }
  plan();
}

function lose() {
  if (paused) return;
  failures = Math.min(failures + 1, 5);
  say("lost");
  plan();
}

// A person who selects text, or is inside a field, is not disturbed: the next look brings the change.
function isBusy(place) {
  const selection = getSelection();
  if (!selection.isCollapsed && place.contains(selection.anchorNode)) return true;
  const active = document.activeElement;
  return place.contains(active) && active.matches("input, select, textarea");
}

function replace(fresh) {
  const place = document.getElementById("live");
  const newPlace = fresh.getElementById("live");
  if (!newPlace) return;
  if (isBusy(place)) {
    tag = "";
    return;
  }
  const focused = place.contains(document.activeElement) ? pathOf(document.activeElement) : null;
  keepOpen(place, newPlace);
  if (news.textContent !== newPlace.dataset.news) news.textContent = newPlace.dataset.news;
  swap(place, newPlace);
  swap(document.getElementById("page-list"), fresh.getElementById("page-list"));
  if (focused) focusAgain(focused);
}

function swap(old, fresh) {
  if (old && fresh && !old.isEqualNode(fresh)) {
    const scrolled = new Map([...old.querySelectorAll(".result, .scroll")].map((e, i) => [i, e.scrollTop]));
    const moved = document.adoptNode(fresh);
    old.replaceWith(moved);
    moved.querySelectorAll(".result, .scroll").forEach((e, i) => { e.scrollTop = scrolled.get(i) || 0; });
  }
}

function keepOpen(old, fresh) {
  for (const part of old.querySelectorAll("details[id]")) {
    const same = fresh.querySelector(`#${CSS.escape(part.id)}`);
    if (same) same.open = part.open;
  }
}

function pathOf(element) {
  const href = element.getAttribute("href");
  if (element.id) return `#${CSS.escape(element.id)}`;
  if (href) return `a[href="${CSS.escape(href)}"]`;
  const details = element.closest("details[id]");
  return details ? `#${CSS.escape(details.id)} > summary` : null;
}

function focusAgain(path) {
  document.getElementById("live").querySelector(path)?.focus({ preventScroll: true });
}

toggle.addEventListener("click", () => {
  paused = !paused;
  sessionStorage.setItem("paused", paused ? "yes" : "no");
  say(paused ? "off" : "on");
  if (paused) clearTimeout(timer);
  else ask();
});
document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(timer) : plan()));
bar.hidden = false;
say(paused ? "off" : "on");
plan();
