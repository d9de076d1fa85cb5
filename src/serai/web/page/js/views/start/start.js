// Screen one: what should be done, where, and by whom.
import { goTo, page, showAside } from "../../page.js";
import { draftOf, messageOf, setDraft } from "../composer/drafts.js";
import { isPhone } from "../composer/phone.js";
import { Pickers } from "../composer/pickers.js";
import { Writing } from "../composer/writing.js";
import { Icon, IconButton } from "../parts/icon.js";
import { html, useEffect, useState } from "../preact.js";
import { Agents, usualAgent, useAgents } from "./agents.js";
import { Folders, folderUri, isWhole, recentFolders } from "./folders.js";

/** @import {ConfigState, FreeForm, ModelSelection, UserMessage} from "../../ahp/types.d.ts" */

const DRAFT = "start";

export function Start() {
  if (page.host.isReading.value)
    return html`<div class="empty">Choose a session to see what it does and to answer it.</div>`;
  if (!page.host.root.value) return html`<div class="empty" role="status">Connecting…</div>`;
  return html`<${NewSession} />`;
}

function NewSession() {
  useEffect(() => {
    if (!isPhone()) document.getElementById("composer")?.focus();
  }, []);
  const agents = useAgents();
  const [picked, pick] = useState(/** @type {string | undefined} */ (undefined));
  const [written, setWritten] = useState(/** @type {string | undefined} */ (undefined));
  const [problem, setProblem] = useState(/** @type {string | null} */ (null));
  const [isBusy, setBusy] = useState(false);
  const [model, setModel] = useState(/** @type {ModelSelection | undefined} */ (undefined));
  const [custom, setCustom] = useState(/** @type {{uri: string} | undefined} */ (undefined));
  const [config, setConfig] = useState(/** @type {FreeForm} */ ({}));
  const provider = picked ?? usualAgent(agents)?.provider;
  const folder = written ?? recentFolders()[0] ?? "";
  const workingDirectory = folder.trim() ? folderUri(folder) : undefined;
  const context = { ...(provider && { provider }), ...(workingDirectory && { workingDirectory }) };
  const settings = useSettings(context, config);
  const info = page.host.root.value?.agents.find((one) => one.provider === provider);
  const draft = draftOf(DRAFT).value;
  const isEmpty = !draft.text.trim() && !draft.attached.length;
  const hasOnlyDemo = agents.every((one) => one.provider === "demo" || !one.installed);

  /** @param {string} next */
  const choose = (next) => {
    pick(next);
    setModel(undefined);
    setCustom(undefined);
    setConfig({});
  };
  /** @param {UserMessage} userMessage @param {object} how */
  const begin = async (userMessage, how) => {
    if (isBusy) return;
    setBusy(true);
    setProblem(null);
    const uri = `ahp-session:/${crypto.randomUUID()}`;
    try {
      await page.host.request("createSession", { channel: uri, ...how });
    } catch (error) {
      const { message, remedy } = /** @type {{message: string, remedy?: string}} */ (error);
      setProblem(remedy ? `${message}. ${remedy}` : message);
      setBusy(false);
      return;
    }
    // The agent may take its time to start: the message waits in the queue, and is taken as soon as it is there.
    const id = crypto.randomUUID();
    void page.host.dispatch(uri, { type: "session/pendingMessageSet", kind: "queued", id, userMessage });
    setDraft(DRAFT, { text: "", attached: [] });
    goTo(uri);
  };
  /** Who has no sessions gets a message, and the conversation opens. @param {string} to */
  const write = async (to) => {
    if (draft.attached.length) return setProblem(`Files cannot be sent to ${to}.`);
    try {
      const { message } = await page.relay.call("messages.send", { to, text: draft.text });
      setDraft(DRAFT, { text: "", attached: [] });
      showAside("messages", { room: message.conversationId });
    } catch (error) {
      setProblem(/** @type {Error} */ (error).message);
    }
  };
  const send = () => {
    if (isEmpty || !provider) return;
    const { handle } = agents.find((one) => one.provider === provider) ?? {};
    if (handle) return void write(handle);
    if (workingDirectory && !isWhole(folder)) {
      setProblem("Write the whole path of the folder, from the first / on.");
      return;
    }
    localStorage.setItem("serai.agent", provider);
    const chosen = { ...(model && { model }), ...(custom && { agent: custom }) };
    void begin(messageOf(draft), { ...context, ...chosen, ...(Object.keys(config).length && { config }) });
  };
  const tour = () => begin({ text: "tour" }, { provider: "demo", ...(workingDirectory && { workingDirectory }) });
  return html`<div class="start">
    <h1>What should be done?</h1>
    <div class="composer">
      <div class="desk">
        <${Writing}
          draftKey=${DRAFT}
          uri=${null}
          label="What should be done?"
          placeholder="Describe it, as you would to a colleague"
          onSend=${send}
        />
        <div class="row under">
          <${IconButton}
            name="add"
            label="Attach files"
            onClick=${() => document.getElementById("composer-files")?.click()}
          />
          <${Pickers}
            models=${info?.models ?? []}
            model=${model}
            onModel=${setModel}
            schema=${settings?.schema}
            values=${{ ...settings?.values, ...config }}
            onConfig=${(/** @type {FreeForm} */ changed) => setConfig((before) => ({ ...before, ...changed }))}
            customizations=${info?.customizations}
            agent=${custom?.uri}
            onAgent=${setCustom}
            isNew=${true}
            context=${context}
          />
          <span class="grow"></span>
          <button type="button" class="main" disabled=${isEmpty || isBusy || !provider} onClick=${send}>
            <${Icon} name="send" /> ${isBusy ? "Starting…" : "Start"}
          </button>
        </div>
      </div>
    </div>
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    <${Folders} folder=${folder} onChange=${setWritten} />
    ${
      agents.some((one) => one.provider === "demo") &&
      (hasOnlyDemo || provider === "demo") &&
      html`<aside class="tour" aria-label="Tour">
        <p>
          ${hasOnlyDemo && "No other agent is installed yet, so the demo agent answers. "}Its tour takes a minute, needs
          no key, and shows an approval, a diff, a question and a queue.
        </p>
        <button type="button" disabled=${isBusy} onClick=${tour}><${Icon} name="play" /> Take the tour</button>
      </aside>`
    }
    <${Agents} agents=${agents} chosen=${provider} onChoose=${choose} />
  </div>`;
}

/**
 * The settings that a session would have. Some depend on what else is chosen.
 * @param {{provider?: string, workingDirectory?: string}} context
 * @param {FreeForm} config
 */
function useSettings(context, config) {
  const [settings, setSettings] = useState(/** @type {ConfigState | null} */ (null));
  useEffect(() => {
    let isWanted = true;
    // Whoever writes the name of a folder is not asked about at each letter.
    const timer = setTimeout(() => {
      page.host.request("resolveSessionConfig", { ...context, config }).then(
        (found) => isWanted && setSettings(found),
        () => isWanted && setSettings(null),
      );
    }, 150);
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [context.provider, context.workingDirectory, config]);
  return settings;
}
