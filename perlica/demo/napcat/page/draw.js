// Turns messages and members into elements. Text goes in as text only, never as markup.

import { locale, word } from "./words.js";

const APPROVE = /\.approve\s+([\w-]+)\s+([\w-]+)/;
const DENY = /\.deny\s+([\w-]+)/;
const HUES = 8;

export function make(tag, classes = "", text = "") {
  const element = document.createElement(tag);
  if (classes) element.className = classes;
  if (text) element.textContent = text;
  return element;
}

function button(classes, text, hint, deed) {
  const element = make("button", classes, text);
  element.type = "button";
  if (hint) element.title = hint;
  element.addEventListener("click", deed);
  return element;
}

function drawAvatar(name, place, isBot) {
  const element = make("span", isBot ? "avatar bot" : `avatar hue-${place % HUES}`, isBot ? "P" : [...name][0] ?? "?");
  element.setAttribute("aria-hidden", "true");
  return element;
}

export function drawSpeaker(member, place, isChosen, choose) {
  const label = make("label", "speaker");
  const input = make("input");
  Object.assign(input, { type: "radio", name: "speaker", value: member.user_id, checked: isChosen });
  input.addEventListener("change", choose);
  const names = make("span", "names");
  names.append(make("b", "", member.name), make("small", "", String(member.user_id)));
  label.append(input, drawAvatar(member.name, place, false), names, make("em", `badge ${member.standing}`, word(member.standing)));
  return label;
}

export const plainText = (message) => message.parts.map((part) => part.text).join("");

export function drawMessage(message, scene) {
  if (message.is_recalled) {
    const gone = make("div", "event", word("recalled", message.name));
    gone.dataset.id = message.id;
    return gone;
  }
  const isBot = message.user_id === scene.selfId;
  const isMine = message.user_id === scene.speakerId;
  const item = make("div", ["message", isBot && "from-bot", isMine && "mine"].filter(Boolean).join(" "));
  item.dataset.id = message.id;
  const column = make("div", "column");
  column.append(drawHead(message, scene), drawBubble(message, scene), ...drawDecision(message, isBot, scene));
  if (message.reactions.length) column.append(make("p", "reactions", message.reactions.join(" ")));
  column.append(drawDeeds(message, isMine, scene));
  item.append(drawAvatar(message.name, scene.placeOf(message.user_id), isBot), column);
  return item;
}

function drawHead(message, scene) {
  const head = make("p", "head");
  const standing = scene.standingOf(message.user_id);
  const time = make("time", "", timeOf(message).toLocaleTimeString(locale(), { hour: "2-digit", minute: "2-digit", hour12: false }));
  time.dateTime = timeOf(message).toISOString();
  head.append(make("b", "", message.name), make("em", `badge ${standing}`, word(standing)), time);
  return head;
}

function drawBubble(message, scene) {
  const bubble = make("div", "bubble");
  if (message.quote) {
    const quote = button("quote", "", "", () => scene.show(message.quote.id));
    quote.append(make("b", "", message.quote.name), ` ${message.quote.text}`);
    bubble.append(quote);
  }
  for (const part of message.parts) {
    if (part.kind === "text") bubble.append(part.text);
    else bubble.append(make("span", part.kind === "mention" && part.user_id === scene.selfId ? "mention us" : part.kind, part.text));
  }
  if (!message.parts.length) bubble.append(make("span", "other", "…"));
  return bubble;
}

function drawDecision(message, isBot, scene) {
  if (!isBot) return [];
  const text = plainText(message);
  const commands = [["approve", text.match(APPROVE)], ["deny", text.match(DENY)]].filter(([, match]) => match);
  if (!commands.length) return [];
  const row = make("div", "decision");
  for (const [name, [command]] of commands) {
    row.append(button(name, word(name), word("approveHint", command), () => scene.fill(command)));
  }
  return [row];
}

function drawDeeds(message, isMine, scene) {
  const row = make("div", "deeds");
  row.append(
    button("quiet", word("reply"), "", () => scene.quote(message)),
    ...(message.user_id === scene.selfId ? [] : [button("quiet", word("again"), word("againHint"), () => scene.again(message))]),
    ...(isMine ? [button("quiet", word("recall"), "", () => scene.recall(message))] : []),
  );
  return row;
}

export const timeOf = (message) => new Date(message.sent_at_s * 1000);

export function drawDay(message) {
  const day = timeOf(message);
  const today = new Date();
  const yesterday = new Date(today.getFullYear(), today.getMonth(), today.getDate() - 1);
  const same = (one, other) => one.toDateString() === other.toDateString();
  const name = same(day, today) ? word("today") : same(day, yesterday) ? word("yesterday")
    : day.toLocaleDateString(locale(), { year: "numeric", month: "long", day: "numeric" });
  return make("div", "event day", name);
}
