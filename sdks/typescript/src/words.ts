/** Command lines: the words of a command as text, and the command in `MCPTEST_BIN`. */

import { existsSync } from "node:fs";
import { BinaryError } from "./errors.js";

const PLAIN = /^[A-Za-z0-9@%+=:,./_-]+$/;
const SPACE = /[ \t\r\n]/;

/** A word as a shell would need it: in single quotes, if necessary. */
export function quoteWord(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}

/** A command as text that is split into the same words again. */
export function quoteWords(words: readonly string[]): string {
  return words.map(quoteWord).join(" ");
}

/** The mcptest binary: what `MCPTEST_BIN` names, else `mcptest` on the path. */
export function findBinary(): string[] {
  const named = (process.env["MCPTEST_BIN"] ?? "").trim();
  if (!named) return ["mcptest"];
  // A path may contain spaces.
  return existsSync(named) ? [named] : splitBinary(named);
}

/** The words of `MCPTEST_BIN`, with the quotes and backslashes of a shell. */
export function splitBinary(text: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    if (SPACE.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (char === "'") {
      const end = text.indexOf("'", at + 1);
      if (end < 0) throw refuse("a single quote does not end");
      word = (word ?? "") + text.slice(at + 1, end);
      at = end;
    } else if (char === '"') {
      word ??= "";
      for (at++; text.charAt(at) !== '"'; at++) {
        if (at >= text.length) throw refuse("a double quote does not end");
        if (text.charAt(at) === "\\" && /["\\]/.test(text.charAt(at + 1))) at++;
        word += text.charAt(at);
      }
    } else if (char === "\\") {
      if (++at === text.length) throw refuse("it ends with a backslash");
      word = (word ?? "") + text.charAt(at);
    } else {
      word = (word ?? "") + char;
    }
  }
  if (word !== undefined) words.push(word);
  return words;
}

function refuse(problem: string): BinaryError {
  return new BinaryError(`MCPTEST_BIN cannot be split into words: ${problem}`);
}
