// What a terminal shows next, from one state of it to the following. Pure.

/** @import {TerminalPart} from "../../ahp/types.d.ts" */

// Questions of a program to its terminal. They were answered when they were asked: answered again, each time someone
// looks, the answers would be typed into whatever runs now.
const QUESTIONS = new RegExp(
  [
    /\x1b\[[?>=]?[0-9;]*[cn]|\x1b\[\?[0-9;]*\$p|\x1b\[[0-9;]*t|\x1b\[>[0-9;]*q/,
    /\x1b\][0-9;]*\?(?:\x07|\x1b\\)|\x1bP[+$]q[^\x1b]*\x1b\\|\x1bZ|\x05/,
  ]
    .map((one) => one.source)
    .join("|"),
  "g",
);

/** @param {TerminalPart} part */
function textOf(part) {
  return part.type === "command" ? part.output : part.type === "unclassified" ? part.value : "";
}

/** Goes along with a terminal's content. */
export class Output {
  /** @type {readonly TerminalPart[]} */
  #shown = [];
  #isFirst = true;

  /**
   * What to write for the screen to show this content; with `isAnew` on an empty screen.
   * @param {readonly TerminalPart[]} content
   */
  next(content) {
    const before = this.#shown;
    this.#shown = content;
    let text = "";
    const last = before.length - 1;
    const goesOn =
      content.length >= before.length &&
      before.every((part, at) => {
        const now = /** @type {TerminalPart} */ (content[at]);
        if (now === part) return true;
        const [old, young] = [textOf(part), textOf(now)];
        // A command that has ended is another object with the same output; only the last part grows.
        if (at < last || !young.startsWith(old)) return young === old;
        text = young.slice(old.length);
        return true;
      });
    const isAnew = this.#isFirst || !goesOn;
    this.#isFirst = false;
    if (isAnew) return { text: content.map(textOf).join("").replaceAll(QUESTIONS, ""), isAnew };
    return { text: text + content.slice(before.length).map(textOf).join(""), isAnew };
  }
}
