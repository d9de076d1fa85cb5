// What a session has cost: in all, by model, and turn by turn, in tokens and money.
import { useChannel } from "../../host/use.js";
import { addressOf, page } from "../../page.js";
import { money, short } from "../parts/format.js";
import { html, useEffect } from "../preact.js";
import { routeOf, useAsked } from "./asked.js";

/** @typedef {import("../../ahp/types.d.ts").SessionState} SessionState */
/** @typedef {{model: string, input: number, cached: number, output: number, dollars: number | null}} Used */
/** @typedef {{spentMicrocents: number | null, unpricedRequests: number, maxCostMicrocents?: number}} Spent */

/** A microcent is a hundred-millionth of a dollar. */
const DOLLAR = 1e8;
/** In the `_meta` of usage: what a turn has cost, and what an agent says that its whole session has. */
const OF_TURN = "costMicrocents";
const OF_SESSION = "serai.sessionCost";
const MOST_SESSIONS = 30;

/** @param {{uri: string | null}} props */
export function Cost({ uri }) {
  return uri === null ? html`<${AllCosts} />` : html`<${CostOf} uri=${uri} />`;
}

/** @param {{uri: string}} props */
function CostOf({ uri }) {
  const state = /** @type {SessionState | null} */ (useChannel(page.host, uri).state.value);
  const asked = useAsked(() => /** @type {Promise<Spent>} */ (page.routes.get(routeOf(uri, "cost"))), [uri]);
  const turns = [...(state?.turns ?? []), ...(state?.activeTurn ? [state.activeTurn] : [])];
  const last = turns.at(-1)?.usage;
  useEffect(() => asked.again(), [turns.length, last]);
  const used = turns.map((turn) => ({ turn, used: usedOf(turn.usage) }));
  const total = sum(used.map((one) => one.used));
  const told = last?._meta?.[OF_SESSION];
  if (!state) return html`<p class="empty" role="status">Loading…</p>`;
  return html`<div class="cost">
    <${Total} spent=${asked.value} told=${told} total=${total} />
    ${asked.problem && html`<p class="problem" role="alert">${asked.problem.message}</p>`}
    <${ByModel} used=${used.map((one) => one.used)} />
    ${
      hasUsed(total) &&
      html`<section>
        <h2>Turn by turn</h2>
        <div class="wide" role="region" aria-label="Turn by turn" tabindex="0">
          <table>
            <${Head} first="Turn" />
            <tbody>
              ${used.map(
                (one, index) =>
                  html`<tr key=${one.turn.id}>
                    <th scope="row">
                      <span class="cut" title=${one.turn.userMessage.text}
                        >${index + 1}. ${one.turn.userMessage.text}</span
                      >
                      ${one.used.model && html`<span class="faint small">${one.used.model}</span>`}
                    </th>
                    <${Numbers} used=${one.used} />
                  </tr>`,
              )}
            </tbody>
          </table>
        </div>
      </section>`
    }
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
  const counted = spent?.spentMicrocents;
  const most = spent?.maxCostMicrocents;
  const isOver = most !== undefined && counted != null && counted >= most;
  const cached = total.cached > 0 ? ` (${short(total.cached)} of them cached)` : "";
  let sumText = "";
  if (counted != null) sumText = money(counted / DOLLAR);
  else if (told) sumText = money(told.amount, told.currency);
  else if (total.dollars !== null) sumText = money(total.dollars);
  return html`<section class="total">
    ${sumText && html`<p class="sum">${sumText}</p>`}
    <p class="faint">
      ${
        hasUsed(total)
          ? `${short(total.input)} tokens in${cached}, ${short(total.output)} out`
          : sumText
            ? "It tells nothing of tokens."
            : "This agent tells neither how many tokens it uses nor what they cost."
      }
    </p>
    ${
      most !== undefined &&
      counted != null &&
      html`<label class="budget">
        <span
          >${Math.round((100 * counted) / most)} % of the budget of
          ${money(most / DOLLAR)}${isOver ? ": it is used up" : ""}</span
        >
        <meter min="0" max=${most} high=${most * 0.8} optimum="0" value=${Math.min(counted, most)}></meter>
      </label>`
    }
    ${most === undefined && counted != null && html`<p class="faint small">It has no budget.</p>`}
    ${
      (spent?.unpricedRequests ?? 0) > 0 &&
      html`<p class="small">
        ${spent?.unpricedRequests} requests are not in this sum: nobody knows the price of their model. Name it in
        serai.toml.
      </p>`
    }
  </section>`;
}

/** @param {{used: readonly Used[]}} props */
function ByModel({ used }) {
  const models = [...new Set(used.map((one) => one.model).filter(Boolean))];
  if (models.length < 2) return null;
  return html`<section>
    <h2>By model</h2>
    <table>
      <${Head} first="Model" />
      <tbody>
        ${models.map(
          (model) =>
            html`<tr key=${model}>
              <th scope="row">${model}</th>
              <${Numbers} used=${sum(used.filter((one) => one.model === model))} />
            </tr>`,
        )}
      </tbody>
    </table>
  </section>`;
}

/** @param {{first: string}} props */
function Head({ first }) {
  return html`<thead>
    <tr>
      <th scope="col">${first}</th>
      <th scope="col">In</th>
      <th scope="col">Cached</th>
      <th scope="col">Out</th>
      <th scope="col">Cost</th>
    </tr>
  </thead>`;
}

/** @param {{used: Used}} props */
function Numbers({ used }) {
  return html`<td>${short(used.input)}</td>
    <td>${short(used.cached)}</td>
    <td>${short(used.output)}</td>
    <td>${used.dollars === null ? html`<span class="faint">unknown</span>` : money(used.dollars)}</td>`;
}

/**
 * @param {import("../../ahp/types.d.ts").UsageInfo | undefined} usage
 * @returns {Used}
 */
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

/**
 * @param {readonly Used[]} all
 * @returns {Used}
 */
function sum(all) {
  const priced = all.flatMap((one) => (one.dollars === null ? [] : [one.dollars]));
  const add = (/** @type {"input" | "cached" | "output"} */ name) => all.reduce((before, one) => before + one[name], 0);
  return {
    model: "",
    input: add("input"),
    cached: add("cached"),
    output: add("output"),
    dollars: priced.length === 0 ? null : priced.reduce((before, one) => before + one, 0),
  };
}

/** What the last sessions have cost, where the host counts it. */
function AllCosts() {
  const sessions = [...page.host.summaries.value.values()]
    .toSorted((one, other) => other.modifiedAt - one.modifiedAt)
    .slice(0, MOST_SESSIONS);
  const uris = sessions.map((one) => one.resource);
  const asked = useAsked(async () => {
    const costs = await Promise.all(uris.map((uri) => page.routes.get(routeOf(uri, "cost")).catch(() => null)));
    return new Map(uris.map((uri, index) => [uri, /** @type {Spent | null} */ (costs[index])]));
  }, [uris.join()]);
  const counted = sessions.filter((one) => asked.value?.get(one.resource)?.spentMicrocents != null);
  const spentBy = (/** @type {string} */ uri) => (asked.value?.get(uri)?.spentMicrocents ?? 0) / DOLLAR;
  if (!asked.value) return html`<p class="empty" role="status">Loading…</p>`;
  if (counted.length === 0)
    return html`<p class="empty">None of the last sessions has a cost that the host counts.</p>`;
  return html`<div class="cost">
    <section class="total">
      <p class="sum">${money(counted.reduce((before, one) => before + spentBy(one.resource), 0))}</p>
      <p class="faint">of the last ${sessions.length} sessions, as far as the host counts them</p>
    </section>
    <table>
      <tbody>
        ${counted.map(
          (one) =>
            html`<tr key=${one.resource}>
              <th scope="row"><a href=${addressOf(one.resource)}>${one.title || "Without a title"}</a></th>
              <td>${money(spentBy(one.resource))}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
