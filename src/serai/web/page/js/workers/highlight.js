// Finds the colours of code, away from the page's own thread.
import hljs from "../../vendor/highlight.js";

/** The name that agents write, where highlight.js knows another. @type {Record<string, string>} */
const ALSO = {
  console: "shell",
  jsonc: "json",
  json5: "json",
  terminal: "shell",
  tsx: "typescript",
  vue: "xml",
  zsh: "bash",
};

self.onmessage = ({ data: { id, text, language } }) => {
  let made = null;
  const name = language.toLowerCase();
  const known = hljs.getLanguage(name) ? name : ALSO[name];
  if (known && hljs.getLanguage(known)) {
    try {
      made = hljs.highlight(text, { language: known, ignoreIllegals: true }).value;
    } catch {
      made = null; // it stays plain
    }
  }
  self.postMessage({ id, made });
};
