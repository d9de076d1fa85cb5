// Screen one: what should be done, where, and by whom.
import { newSession, page, showAside, told } from "../../page.js";
import { draftOf, isBlank, messageOf, setDraft } from "../composer/drafts.js";
import { Pickers } from "../composer/pickers.js";
import { Writing } from "../composer/writing.js";
import { focusComposer, useAnswer } from "../parts/field.js";
import { Icon } from "../parts/icon.js";
import { html, useEffect, useState } from "../preact.js";
import { Agents, usualAgent, useAgents } from "./agents.js";
import { Folders, folderUri, recentFolders } from "./folders.js";

/** @import {FreeForm, ModelSelection, UserMessage} from "../../ahp/types.d.ts" */

const DRAFT = "start";

export function Start() {
  if (page.host.isReading.value)
    return html`<div class="empty">Choose a session to see what it does and to answer it.</div>`;
  if (!page.host.root.value) return html`<div class="empty" role="status">Connecting…</div>`;
  return html`<${NewSession} />`;
}

/** What was chosen of an agent. @typedef {{model?: ModelSelection, agent?: {uri: string}, config?: FreeForm}} Chosen */

function NewSession() {
  useEffect(focusComposer, []);
  const agents = useAgents();
  const [picked, pick] = useState(/** @type {string | undefined} */ (undefined));
  const [written, setWritten] = useState(/** @type {string | undefined} */ (undefined));
  const [problem, setProblem] = useState(/** @type {string | null} */ (null));
  const [isBusy, setBusy] = useState(false);
  const [chosen, setChosen] = useState(/** @type {Chosen} */ ({}));
  const provider = picked ?? usualAgent(agents)?.provider;
  const folder = written ?? recentFolders()[0] ?? "";
  const place = folder.trim() ? { workingDirectory: folderUri(folder) } : {};
  const context = { ...(provider && { provider }), ...place };
  const { config } = chosen;
  // Some settings depend on what else is chosen. Whoever writes the name of a folder is not asked about at each letter.
  const ask = async () => {
    const settings = await page.host.request("resolveSessionConfig", { ...context, config: config ?? {} });
    return { provider, settings };
  };
  const found = useAnswer(ask, [provider, place.workingDirectory, config], 150).value;
  // An agent that was chosen just now may take its time to tell: the settings of the one before are not its own.
  const settings = found?.provider === provider ? found?.settings : null;
  const info = page.host.root.value?.agents.find((one) => one.provider === provider);
  const draft = draftOf(DRAFT).value;
  const hasOnlyDemo = agents.every((one) => one.provider === "demo" || !one.installed);

  /** @param {UserMessage} userMessage @param {object} how */
  const begin = async (userMessage, how) => {
    if (isBusy) return;
    setBusy(true);
    setProblem(null);
    try {
      const uri = await newSession(how);
      // The agent may take its time to start: the message waits in the queue, and is taken as soon as it is there.
      const id = crypto.randomUUID();
      void page.host.dispatch(uri, { type: "session/pendingMessageSet", kind: "queued", id, userMessage });
      setDraft(DRAFT, { text: "", attached: [] });
    } catch (error) {
      const { message, remedy } = /** @type {{message: string, remedy?: string}} */ (error);
      setProblem(remedy ? `${message}. ${remedy}` : message);
      setBusy(false);
    }
  };
  /** Who has no sessions gets a message, and the conversation opens. @param {string} to */
  const write = async (to) => {
    if (draft.attached.length) return setProblem(`Files cannot be sent to ${to}.`);
    const sent = await told(page.relay.call("messages.send", { to, text: draft.text }));
    if (!sent) return;
    setDraft(DRAFT, { text: "", attached: [] });
    showAside("messages", { room: sent.message.conversationId });
  };
  const send = () => {
    if (isBlank(draft) || !provider) return;
    const { handle } = agents.find((one) => one.provider === provider) ?? {};
    if (handle) return void write(handle);
    if (folder.trim() && !folder.trim().startsWith("/")) {
      setProblem("Write the whole path of the folder, from the first / on.");
      return;
    }
    localStorage.setItem("serai.agent", provider);
    void begin(messageOf(draft), { ...context, ...chosen });
  };
  /** @param {Chosen} more */
  const choose = (more) => setChosen((before) => ({ ...before, ...more }));
  /** @param {string} next */
  const chooseAgent = (next) => {
    pick(next);
    setChosen({});
  };
  return html`<div class="start stack">
    <h1>What should be done?</h1>
    <div class="composer stack">
      <div class="desk">
        <${Writing} draftKey=${DRAFT} uri=${null} label="What should be done?"
          placeholder="Describe it, as you would to a colleague" onSend=${send} />
        <div class="row wrap under">
          <${Pickers} models=${info?.models ?? []} model=${chosen.model} schema=${settings?.schema}
            values=${{ ...settings?.values, ...config }} customizations=${info?.customizations}
            agent=${chosen.agent?.uri} isNew=${true} context=${context}
            onModel=${(/** @type {ModelSelection} */ model) => choose({ model })}
            onConfig=${(/** @type {FreeForm} */ changed) => choose({ config: { ...config, ...changed } })}
            onAgent=${(/** @type {Chosen["agent"]} */ agent) => choose({ agent })} />
          <span class="grow"></span>
          <button class="main" disabled=${isBlank(draft) || isBusy || !provider} onClick=${send}>
            <${Icon} name="send" /> ${isBusy ? "Starting…" : "Start"}
          </button>
        </div>
      </div>
    </div>
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    <${Folders} folder=${folder} onChange=${setWritten} />
    ${agents.some((one) => one.provider === "demo") && (hasOnlyDemo || provider === "demo") && html`
      <aside class="tour row" aria-label="Tour">
        <p class="grow">
          ${hasOnlyDemo && "No other agent is installed yet, so the demo agent answers. "}Its tour takes a minute, needs
          no key, and shows an approval, a diff, a question and a queue.
        </p>
        <button disabled=${isBusy} onClick=${() => begin({ text: "tour" }, { provider: "demo", ...place })}>
          <${Icon} name="play" /> Take the tour
        </button>
      </aside>
    `}
    <${Agents} agents=${agents} chosen=${provider} onChoose=${chooseAgent} />
  </div>`;
}
