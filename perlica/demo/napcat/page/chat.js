// The chat page: one group at a time, spoken in as any of its members, always up to date.

import * as composer from "./composer.js";
import { drawDay, drawMessage, drawSpeaker, make, plainText, timeOf } from "./draw.js";
import * as wire from "./wire.js";
import { fillWords, switchLanguage, word } from "./words.js";

const byId = (id) => document.getElementById(id);
const [messages, newest, toast] = ["messages", "newest", "toast"].map(byId);
const NEAR_THE_END_PX = 80;
const TOAST_MS = 4000;

const isNarrow = matchMedia("(width <= 819px)");
let state;
let group;
let speakerId;
let isServerThere = true;

const bot = () => group.members.find((member) => member.user_id === state.self_id);
const people = () => group.members.filter((member) => member.user_id !== state.self_id);
const isTarget = () => group === state.groups[0];
const atTheEnd = () => messages.scrollHeight - messages.scrollTop - messages.clientHeight < NEAR_THE_END_PX;
const toTheEnd = () => { messages.scrollTop = messages.scrollHeight; newest.hidden = true; };

const scene = {
  get selfId() { return state.self_id; },
  get speakerId() { return speakerId; },
  standingOf: (userId) => group.members.find((member) => member.user_id === userId)?.standing ?? "unlisted",
  placeOf: (userId) => Math.max(group.members.findIndex((member) => member.user_id === userId), 0),
  fill: (text) => composer.fill(text),
  quote: (message) => composer.quote(message, plainText(message).slice(0, 80)),
  again: (message) => attempt(async () => { await wire.redeliver(message.id); tell(word("againDone")); }),
  recall: (message) => attempt(() => wire.recall(message.id)),
  show(id) {
    const element = messages.querySelector(`[data-id="${CSS.escape(id)}"]`);
    element?.scrollIntoView({ block: "center" });
    element?.animate([{ opacity: 0.3 }, { opacity: 1 }], 600);
  },
};

async function attempt(deed) {
  try { await deed(); } catch (error) { tell(word("failed", error.message)); }
}

function tell(text) {
  toast.textContent = text;
  toast.classList.add("shown");
  clearTimeout(tell.timer);
  tell.timer = setTimeout(() => toast.classList.remove("shown"), TOAST_MS);
}

async function send(text) {
  await attempt(async () => {
    const fields = { group_id: group.group_id, user_id: speakerId, parts: composer.partsOf(text), reply_to: composer.quotedId() };
    await wire.say(fields);
    composer.clear();
    toTheEnd();
  });
}

function drawAll() {
  fillWords();
  drawTop();
  drawSpeakers();
  drawIdeas();
  drawMessages();
}

function drawTop() {
  document.title = group.name;
  byId("group-name").textContent = group.name;
  byId("group-facts").textContent = word("facts", group.members.length, group.group_id);
  byId("groups").replaceChildren(...state.groups.map((other) => {
    const tab = make("button", "", other.name);
    tab.type = "button";
    tab.setAttribute("aria-pressed", String(other === group));
    tab.addEventListener("click", () => enter(other));
    return tab;
  }));
  byId("language").textContent = word("language");
  byId("language").setAttribute("aria-label", word("languageLabel"));
  byId("mention-bot").textContent = `@${bot().name}`;
  drawStatus();
}

function drawStatus() {
  const { is_connected: isConnected, is_online: isOnline } = state.connection;
  const name = !isServerThere ? "gone" : !isOnline ? "offline" : isConnected ? "connected" : "disconnected";
  byId("status").className = `status ${name}`;
  byId("status-text").textContent = word(name);
}

function drawSpeakers() {
  byId("speakers").replaceChildren(...people().map((member) => drawSpeaker(member, scene.placeOf(member.user_id), member.user_id === speakerId, () => speakAs(member.user_id))));
  const name = people().find((member) => member.user_id === speakerId).name;
  byId("draft").placeholder = word(isNarrow.matches ? "draftShort" : "draft", name);
  byId("draft").setAttribute("aria-label", word("draft", name));
}

function drawIdeas() {
  byId("ideas").replaceChildren(...word("ideas").map((text) => {
    const idea = make("button", "idea", text);
    idea.type = "button";
    idea.addEventListener("click", () => composer.fill(text));
    return idea;
  }));
}

function drawMessages() {
  messages.replaceChildren(make("div", "event hint", isTarget() ? (group.messages.length ? "" : word("empty")) : word("otherGroup")));
  group.messages.forEach((message, at) => append(message, group.messages[at - 1]));
  toTheEnd();
}

function append(message, previous) {
  if (!previous || timeOf(previous).toDateString() !== timeOf(message).toDateString()) messages.append(drawDay(message));
  messages.append(drawMessage(message, scene));
}

function onMessage(message) {
  const there = state.groups.find((other) => other.group_id === message.group_id);
  const at = there.messages.findIndex((known) => known.id === message.id);
  if (at >= 0) {
    there.messages[at] = message;
    if (there === group) messages.querySelector(`[data-id="${CSS.escape(message.id)}"]`)?.replaceWith(drawMessage(message, scene));
    return;
  }
  there.messages.push(message);
  if (there !== group) return;
  const follow = atTheEnd();
  if (there.messages.length === 1) drawMessages();
  else append(message, there.messages.at(-2));
  if (follow) toTheEnd();
  else newest.hidden = false;
}

function speakAs(userId) {
  speakerId = userId;
  sessionStorage.setItem("speaker", String(userId));
  drawSpeakers();
  drawMessages();
  byId("speakers").querySelector(":checked").focus();
}

function enter(other) {
  group = other;
  sessionStorage.setItem("group", String(group.group_id));
  const wanted = Number(sessionStorage.getItem("speaker"));
  speakerId = (people().find((member) => member.user_id === wanted) ?? people()[0]).user_id;
  composer.setPeople([bot(), ...people(), { user_id: 0, name: word("everyone"), nickname: word("everyone") }]);
  composer.stopQuoting();
  drawAll();
}

async function start() {
  state = await wire.readState();
  composer.start(send);
  isNarrow.addEventListener("change", drawSpeakers);
  byId("language").addEventListener("click", () => { switchLanguage(); enter(group); });
  byId("mention-bot").addEventListener("click", () => composer.insert(`@${bot().name} `));
  newest.addEventListener("click", toTheEnd);
  messages.addEventListener("scroll", () => { if (atTheEnd()) newest.hidden = true; });
  enter(state.groups.find((known) => String(known.group_id) === sessionStorage.getItem("group")) ?? state.groups[0]);
  wire.follow(state, {
    onMessage,
    onConnection: (connection) => { state.connection = connection; drawStatus(); },
    onServer: (isThere) => { isServerThere = isThere; drawStatus(); },
  });
}

start();
