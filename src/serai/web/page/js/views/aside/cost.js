// What a session has cost: in all, by model, and turn by turn, in tokens and money.
import { useChannel } from "../../host/use.js";
import { page } from "../../page.js";
import { money, short } from "../parts/format.js";
import { html } from "../preact.js";
import { routeOf, useAsked } from "./asked.js";
import { Pending, Table } from "./shapes.js";

/** @import {SessionState, UsageInfo} from "../../ahp/types.d.ts" */
/** @typedef {{model: string, input: number, cached: number, output: number, dollars: number | null}} Used */
/** @typedef {{spentMicrocents: number | null, unpricedRequests: number, maxCostMicrocents?: number}} Spent */

/** A microcent is a hundred-millionth of a dollar. */
const DOLLAR = 1e8;
/** In the `_meta` of usage: what a turn has cost, and what an agent says that its whole session has. */
const OF_TURN = "costMicrocents";
const OF_SESSION = "serai.sessionCost";

/** @param {{uri: string}} props */
export function Cost({ uri }) {
  const state = /** @type {SessionState | null} */ (useChannel(page.host, uri).state.value);
  const turns = [...(state?.turns ?? []), ...(state?.activeTurn ? [state.activeTurn] : [])];
  const last = turns.at(-1)?.usage;
  const ask = () => /** @type {Promise<Spent>} */ (page.routes.get(routeOf(uri, "cost")));
  const asked = useAsked(ask, [turns.length, last]);
  if (!state) return html`<${Pending} />`;
  const used = turns.map((turn) => usedOf(turn.usage));
  const total = sum(used);
  const models = [...new Set(used.map((one) => one.model).filter(Boolean))];
  const head = ["In", "Cached", "Out", "Cost"];
  return html`<div class="sheet cost">
    <${Total} spent=${asked.value} told=${last?._meta?.[OF_SESSION]} total=${total} />
    ${asked.problem && html`<${Pending} problem=${asked.problem} />`}
    ${models.length > 1 &&
    html`<h2>By model</h2>
      <${Table}
        label="By model" head=${["Model", ...head]}
        rows=${models.map((model) => [model, ...cellsOf(sum(used.filter((one) => one.model === model)))])}
      />`}
    ${hasUsed(total) &&
    html`<h2>Turn by turn</h2>
      <${Table}
        label="Turn by turn" head=${["Turn", ...head]}
        rows=${turns.map(({ userMessage, usage }, index) => [
          html`<span class="cut" title=${userMessage.text}>${index + 1}. ${userMessage.text}</span>
            <span class="faint small">${usage?.model}</span>`,
          ...cellsOf(usedOf(usage)),
        ])}
      />`}
  </div>`;
}

/** Whether anything is known of what was used. @param {Used} total */
function hasUsed(total) {
  return total.input + total.output > 0 || total.dollars !== null;
}

/**
 * In all, and how much of the budget that is.
 * @param {{spent: Spent | null, told: {amount: number, currency: string} | undefined, total: Used}} props
 */
function Total({ spent, told, total }) {
  const counted = spent?.spentMicrocents ?? null;
  const most = spent?.maxCostMicrocents;
  const unpriced = spent?.unpricedRequests ?? 0;
  const cached = total.cached > 0 ? ` (${short(total.cached)} of them cached)` : "";
  const dollars = counted === null ? total.dollars : counted / DOLLAR;
  const amount = told && counted === null ? money(told.amount, told.currency) : dollars !== null && money(dollars);
  const tokens = hasUsed(total)
    ? `${short(total.input)} tokens in${cached}, ${short(total.output)} out`
    : amount
      ? "It tells nothing of tokens."
      : "This agent tells neither how many tokens it uses nor what they cost.";
  return html`
    ${amount && html`<p class="sum">${amount}</p>`}
    <p class="faint">${tokens}</p>
    ${most !== undefined && counted !== null &&
    html`<label>
      ${Math.round((100 * counted) / most)} % of the budget of
      ${` ${money(most / DOLLAR)}`}${counted >= most ? ": it is used up" : ""}
      <meter min="0" max=${most} high=${most * 0.8} optimum="0" value=${Math.min(counted, most)}></meter>
    </label>`}
    ${most === undefined && counted !== null && html`<p class="faint small">It has no budget.</p>`}
    ${unpriced > 0 &&
    html`<p class="small">
      ${unpriced} requests are not in this sum: nobody knows the price of their model. Name it in serai.toml.
    </p>`}
  `;
}

/** @param {Used} used */
function cellsOf({ input, cached, output, dollars }) {
  const cost = dollars === null ? html`<span class="faint">unknown</span>` : money(dollars);
  return [short(input), short(cached), short(output), cost];
}

/** @param {UsageInfo | undefined} usage @returns {Used} */
function usedOf(usage) {
  const microcents = usage?._meta?.[OF_TURN];
  return {
    model: usage?.model ?? "",
    input: usage?.inputTokens ?? 0,
    cached: usage?.cacheReadTokens ?? 0,
    output: usage?.outputTokens ?? 0,
    dollars: typeof microcents === "number" ? microcents / DOLLAR : null,
  };
}

/** @param {readonly Used[]} all @returns {Used} */
function sum(all) {
  const nothing = usedOf(undefined);
  return all.reduce(
    (before, one) => ({
      model: "",
      input: before.input + one.input,
      cached: before.cached + one.cached,
      output: before.output + one.output,
      dollars: one.dollars === null ? before.dollars : (before.dollars ?? 0) + one.dollars,
    }),
    nothing,
  );
}
