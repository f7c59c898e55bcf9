// Drives node-napcat-ts against the address on the command line; prints one line of JSON for each
// thing that it understood. Lines on standard input are jobs: {"call": action, "params": {...}}.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import readline from "node:readline";

const [, , modules, baseUrl, accessToken] = process.argv;
const found = createRequire(`${modules}/package.json`).resolve("node-napcat-ts");
const { NCWebsocket } = await import(pathToFileURL(found).href);

const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const client = new NCWebsocket({ baseUrl, accessToken, apiTimeout: 5000, reconnection: { enable: false } });
for (const kind of [
  "meta_event.lifecycle", "meta_event.heartbeat", "message.group", "message_sent.group",
  "notice.group_recall", "notice.group_ban", "notice.group_decrease", "notice.group_card",
  "notice.group_upload", "notice.bot_offline", "socket.error", "socket.close",
]) {
  client.on(kind, (context) => say({ kind, context }));
}
await client.connect();
say({ kind: "connected" });

for await (const line of readline.createInterface({ input: process.stdin })) {
  const job = JSON.parse(line);
  try {
    say({ kind: "answer", data: await client[job.call](job.params) });
  } catch (failure) {
    say({ kind: "failure", retcode: failure.retcode, message: failure.message });
  }
}
await client.disconnect();
process.exit(0);
