// Counts the tokens of each JSON line on stdin with public tokenizers: one array a line on stdout.
// Runs in a folder that has gpt-tokenizer and @anthropic-ai/tokenizer installed; see tokens.py.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const require = createRequire(`${process.cwd()}/`);
const o200k = require("gpt-tokenizer/encoding/o200k_base");
const cl100k = require("gpt-tokenizer/encoding/cl100k_base");
const claude = require("@anthropic-ai/tokenizer").getTokenizer();

for await (const line of createInterface({ input: process.stdin })) {
  const counts = [
    o200k.encode(line).length,
    cl100k.encode(line).length,
    claude.encode(line.normalize("NFKC"), "all").length,
  ];
  console.log(JSON.stringify(counts));
}
