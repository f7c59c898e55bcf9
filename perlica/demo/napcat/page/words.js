// Every word on the page, Chinese first; the choice is kept in this browser.

const WORDS = {
  zh: {
    skip: "跳到输入框", speakAs: "以谁的身份发言", tryIt: "试一试", send: "发送", newest: "↓ 新消息",
    groups: "群", messages: "群消息", members: "群成员", stopQuoting: "取消回复",
    note: "这是演示用的群：没有连接真正的 QQ，所有人都是虚构的。",
    owner: "Owner", member: "成员", unlisted: "未登记", bot: "机器人",
    connected: "Perlica 已连接", disconnected: "Perlica 未连接", offline: "QQ 已掉线", gone: "演示服务已停止",
    facts: (count, id) => `${count} 人 · 群号 ${id}`,
    draft: (name) => `以 ${name} 的身份说点什么…  输入 @ 可以提及`,
    draftShort: (name) => `${name}：`,
    reply: "回复", again: "再投递一次", recall: "撤回", approve: "批准", deny: "拒绝",
    againHint: "把同一条消息原样再推送一遍：Perlica 应当什么都不做",
    againDone: "已把同一条消息再投递一次",
    approveHint: (text) => `填入 ${text}`,
    recalled: (name) => `${name} 撤回了一条消息`,
    quoting: (name, text) => `回复 ${name}：${text}`,
    failed: (why) => `没有成功：${why}`,
    empty: "还没有消息。@Perlica 说一句试试。",
    otherGroup: "这里不是 Perlica 的目标群：在这里说的话，Perlica 连一个字都不会保存。",
    everyone: "全体成员", today: "今天", yesterday: "昨天", language: "EN", languageLabel: "Switch to English",
    ideas: [
      "@Perlica 运行 `uname -a; cat /etc/os-release`",
      "@Perlica 写入 `/root/标记.txt`：你好，沙箱",
      "@Perlica 读取 `/root/标记.txt`",
      "@Perlica 列出沙箱", "@Perlica 删除沙箱 main", "@Perlica 搜索历史 标记", ".status", ".help",
    ],
  },
  en: {
    skip: "Skip to the message box", speakAs: "Speak as", tryIt: "Try", send: "Send", newest: "↓ New messages",
    groups: "Groups", messages: "Messages", members: "Members", stopQuoting: "Cancel reply",
    note: "A demo group: no real QQ is connected, everybody here is invented.",
    owner: "Owner", member: "Member", unlisted: "Not listed", bot: "Bot",
    connected: "Perlica connected", disconnected: "Perlica not connected", offline: "QQ is offline", gone: "The demo server has stopped",
    facts: (count, id) => `${count} members · group ${id}`,
    draft: (name) => `Say something as ${name}…  @ to mention`,
    draftShort: (name) => `${name}:`,
    reply: "Reply", again: "Deliver again", recall: "Recall", approve: "Approve", deny: "Deny",
    againHint: "Push the identical message once more: Perlica should do nothing",
    againDone: "The identical message was delivered again",
    approveHint: (text) => `Fill in ${text}`,
    recalled: (name) => `${name} recalled a message`,
    quoting: (name, text) => `Reply to ${name}: ${text}`,
    failed: (why) => `Not done: ${why}`,
    empty: "No messages yet. Say something to @Perlica.",
    otherGroup: "This is not Perlica's group: of what is said here, Perlica keeps nothing.",
    everyone: "全体成员", today: "Today", yesterday: "Yesterday", language: "中文", languageLabel: "切换到中文",
    ideas: [
      "@Perlica run `uname -a; cat /etc/os-release`",
      "@Perlica write `/root/marker.txt`: hello, sandbox",
      "@Perlica read `/root/marker.txt`",
      "@Perlica list sandboxes", "@Perlica delete sandbox main", "@Perlica search the history for marker", ".status", ".help",
    ],
  },
};

let language = localStorage.getItem("language") === "en" ? "en" : "zh";

export const word = (name, ...values) => {
  const entry = WORDS[language][name];
  return typeof entry === "function" ? entry(...values) : entry;
};

export const locale = () => (language === "zh" ? "zh-CN" : "en-GB");

export function switchLanguage() {
  language = language === "zh" ? "en" : "zh";
  localStorage.setItem("language", language);
}

export function fillWords() {
  document.documentElement.lang = locale();
  for (const element of document.querySelectorAll("[data-word]")) element.textContent = word(element.dataset.word);
  for (const element of document.querySelectorAll("[data-label]")) element.setAttribute("aria-label", word(element.dataset.label));
}
