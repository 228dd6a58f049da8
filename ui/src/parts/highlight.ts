// Code in colours. Loaded when the first block of code is shown. It gives a tree, never HTML, so nothing is unescaped.
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import kotlin from "highlight.js/lib/languages/kotlin";
import markdown from "highlight.js/lib/languages/markdown";
import php from "highlight.js/lib/languages/php";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import shell from "highlight.js/lib/languages/shell";
import sql from "highlight.js/lib/languages/sql";
import swift from "highlight.js/lib/languages/swift";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { createLowlight } from "lowlight";

const lowlight = createLowlight({
  bash,
  c,
  cpp,
  csharp,
  css,
  diff,
  dockerfile,
  go,
  ini,
  java,
  javascript,
  json,
  kotlin,
  markdown,
  php,
  python,
  ruby,
  rust,
  shell,
  sql,
  swift,
  typescript,
  xml,
  yaml,
});

/** A run of characters that look alike; an empty name is plain text. */
export type Run = { name: string; text: string };

type Node = { type: string; value?: string; properties?: { className?: unknown }; children?: Node[] };

/** Cut code into runs, or null where nothing is known of its language. */
export function runsOf(code: string, language: string): Run[] | null {
  if (!lowlight.registered(language)) return null;
  const runs: Run[] = [];
  collect(lowlight.highlight(language, code) as unknown as Node, "", runs);
  return runs;
}

function collect(node: Node, name: string, runs: Run[]) {
  if (node.type === "text") runs.push({ name, text: node.value ?? "" });
  const given = node.properties?.className;
  const own = Array.isArray(given) ? String(given[0]).replace(/^hljs-/, "") : name;
  for (const child of node.children ?? []) collect(child, own, runs);
}
