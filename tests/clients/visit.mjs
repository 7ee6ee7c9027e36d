// Visits a server with the TypeScript SDK, of the line and in the mode that the task asks for.
// Takes the folder of the packages and a JSON object with `line`, `command` or `url`, and `calls`;
// prints what it saw as JSON.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, text] = process.argv.slice(2);
const task = JSON.parse(text);
const { resolve } = createRequire(pathToFileURL(folder + "/"));
const load = (name) => import(pathToFileURL(resolve(name)));

const packages = {
  1: ["sdk/client/index.js", "sdk/client/stdio.js", "sdk/client/streamableHttp.js"],
  2: ["client", "client/stdio", "client"],
}[task.line].map((name) => load("@modelcontextprotocol/" + name));
const [{ Client }, { StdioClientTransport }, { StreamableHTTPClientTransport }] =
  await Promise.all(packages);

const options = task.modern ? { versionNegotiation: { mode: "auto" } } : {};
const client = new Client({ name: "visit", version: "1" }, { capabilities: {}, ...options });
const [command, ...args] = task.command ?? [];
await client.connect(
  task.url
    ? new StreamableHTTPClientTransport(new URL(task.url))
    : new StdioClientTransport({ command, args }),
);
const { tools } = await client.listTools();
const answers = {};
for (const [name, toolArguments] of task.calls) {
  const answer = await client.callTool({ name, arguments: toolArguments });
  answers[name] = answer.content[0].text;
}
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), answers }));
await client.close();
