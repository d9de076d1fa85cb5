// What a session works with: model, mode and other settings, small under the text; and files to attach.
import { page } from "../../page.js";
import { lines } from "../docks/answers.js";
import { ask } from "../parts/dialog.js";
import { typing, useAnswer } from "../parts/field.js";
import { IconButton } from "../parts/icon.js";
import { html, useId, useState } from "../preact.js";

/** @import {ConfigProperty, ConfigSchema, Customization, FreeForm} from "../../ahp/types.d.ts" */
/** @import {ModelInfo, ModelSelection} from "../../ahp/types.d.ts" */

/**
 * `customizations` is where custom agents are among, `agent` the chosen one's URI; a session that is still to be made
 * (`isNew`) can have all settings.
 * @param {object} props @param {readonly ModelInfo[]} props.models @param {ModelSelection | undefined} props.model
 * @param {(model: ModelSelection) => void} props.onModel @param {ConfigSchema | undefined} props.schema
 * @param {FreeForm} props.values @param {(changed: FreeForm) => void} props.onConfig
 * @param {readonly Customization[]} [props.customizations] @param {string} [props.agent] @param {boolean} [props.isNew]
 * @param {(agent: {uri: string} | undefined) => void} props.onAgent @param {object} props.context
 */
export function Pickers({ models, model, onModel, schema, values, onConfig, customizations = [], ...more }) {
  const { agent, onAgent, isNew = false, context } = more;
  const agents = customizations
    .filter((one) => one.enabled)
    .flatMap((one) => (one.children ?? []).filter((child) => child.type === "agent"));
  const chosen = models.find((one) => one.id === model?.id);
  const usual = chosen ? [] : [{ value: model?.id ?? "", label: model?.id ?? "Default model" }];
  const offered = models.filter((one) => one.policyState !== "disabled" || one === chosen);
  const settings = Object.entries(schema?.properties ?? {});
  const open = settings.filter(([, one]) => !one.readOnly && (isNew || one.sessionMutable));
  const large = open.filter(([, property]) => !isSmall(property));
  const edit = async () => {
    const body = (/** @type {(value: FreeForm | null) => void} */ done) =>
      html`<${Settings} properties=${large} values=${values} context=${context} onDone=${done} />`;
    const changed = await ask("Settings of this session", body);
    if (changed && Object.keys(changed).length) onConfig(changed);
  };
  /** @param {[string, ConfigProperty][]} some @param {FreeForm} now @param {(changed: FreeForm) => void} take */
  const picked = (some, now, take) =>
    some.filter(([, one]) => isSmall(one)).map(([name, property]) => html`<${Picker} key=${name} property=${property}
      value=${now[name]} onChange=${(/** @type {unknown} */ value) => take({ [name]: value })} />`);
  return html`<div class="pickers row wrap">
    <${IconButton} name="add" label="Attach files"
      onClick=${() => document.getElementById("composer-files")?.click()} />
    ${agents.length > 0 && html`<${Select} title="Custom agent" value=${agent ?? ""}
      choices=${[{ uri: "", name: "No custom agent" }, ...agents].map(({ uri, name }) => ({ value: uri, label: name }))}
      onChange=${(/** @type {string} */ uri) => onAgent(uri ? { uri } : undefined)} />`}
    ${models.length > 0 && html`<${Select} title="Model" value=${model?.id ?? ""}
      choices=${[...usual, ...offered.map(({ id, name }) => ({ value: id, label: name }))]}
      onChange=${(/** @type {string} */ id) => id && onModel({ id })} />`}
    ${model && picked(Object.entries(chosen?.configSchema?.properties ?? {}), model.config ?? {}, (changed) =>
      onModel({ id: model.id, config: { ...model.config, ...changed } }))}
    ${picked(open, values, onConfig)}
    ${large.length > 0 && html`<${IconButton} name="cog" label="More settings" onClick=${edit} />`}
  </div>`;
}

/** Whether a setting is one choice of a few. @param {ConfigProperty} property */
function isSmall(property) {
  return property.type === "boolean" || (property.enum !== undefined && property.type === "string");
}

/** @param {{property: ConfigProperty, value: unknown, onChange: (value: unknown) => void}} props */
function Picker({ property, value, onChange }) {
  const isSwitch = property.type === "boolean";
  const names = isSwitch ? ["true", "false"] : (property.enum ?? []);
  const labels = isSwitch ? [`${property.title}: on`, `${property.title}: off`] : property.enumLabels;
  const now = String(value ?? property.default ?? (isSwitch ? false : ""));
  const choices = names.map((name, at) => ({ value: name, label: labels?.[at] ?? name }));
  if (!names.includes(now)) choices.unshift({ value: "", label: property.title });
  return html`<${Select} title=${property.title} choices=${choices} value=${names.includes(now) ? now : ""}
    hint=${property.enumDescriptions?.[names.indexOf(now)] ?? property.description}
    onChange=${(/** @type {string} */ chosen) => chosen && onChange(isSwitch ? chosen === "true" : chosen)} />`;
}

/**
 * @param {{title: string, hint?: string, value: string, choices: {value: string, label: string}[],
 *   onChange: (value: string) => void}} props
 */
function Select({ title, hint, value, choices, onChange }) {
  return html`<label class="small" title=${hint ? `${title}: ${hint}` : title}>
    <span class="hidden">${title}</span>
    <select value=${value} onChange=${typing(onChange)}>
      ${choices.map((one) => html`<option value=${one.value} selected=${one.value === value}>${one.label}</option>`)}
    </select>
  </label>`;
}

/**
 * The settings that are written, not chosen: text, numbers, and lists with one entry on each line.
 * @param {object} props @param {[string, ConfigProperty][]} props.properties @param {FreeForm} props.values
 * @param {object} props.context @param {(changed: FreeForm | null) => void} props.onDone
 */
function Settings({ properties, values, context, onDone }) {
  const [changed, setChanged] = useState(/** @type {FreeForm} */ ({}));
  /** @param {Event} event */
  const save = (event) => {
    event.preventDefault();
    onDone(changed);
  };
  return html`<form class="settings stack" onSubmit=${save}>
    ${properties.map(([name, property]) => html`<${Setting} key=${name} name=${name} property=${property}
      value=${changed[name] ?? values[name] ?? property.default} context=${context}
      onChange=${(/** @type {unknown} */ value) => setChanged((before) => ({ ...before, [name]: value }))} />`)}
    <div class="row dialog-buttons">
      <button type="button" onClick=${() => onDone(null)}>Cancel</button>
      <button type="submit" class="main">Save</button>
    </div>
  </form>`;
}

/**
 * @param {{name: string, property: ConfigProperty, value: unknown, context: object,
 *   onChange: (value: unknown) => void}} props
 */
function Setting({ name, property, value, context, onChange }) {
  const id = useId();
  // It is only a help: the value can be written.
  const ask = () =>
    property.enumDynamic ? page.host.request("sessionConfigCompletions", { ...context, property: name }) : null;
  const offers = useAnswer(ask, []).value?.items ?? [];
  const isNumber = property.type === "number" || property.type === "integer";
  const fields = /** @type {Record<string, () => unknown>} */ ({
    object: () => html`<p class="faint small">This is set in the file of settings.</p>`,
    array: () => html`<textarea id=${id} rows="3" placeholder="One on each line"
      value=${(Array.isArray(value) ? value : []).join("\n")}
      onChange=${typing((text) => onChange(lines(text)))}></textarea>`,
  });
  const written = () => html`<input id=${id} list=${`${id}-offers`} type=${isNumber ? "number" : "text"}
    value=${value ?? ""} onChange=${typing((text) => onChange(isNumber ? Number(text) : text))} />`;
  return html`<div class="setting stack">
    <label for=${id}>${property.title}</label>
    ${property.description && html`<p class="faint small">${property.description}</p>`}
    ${(fields[property.type] ?? written)()}
    <datalist id=${`${id}-offers`}>
      ${offers.map((one) => html`<option value=${one.value}>${one.label}</option>`)}
    </datalist>
  </div>`;
}
