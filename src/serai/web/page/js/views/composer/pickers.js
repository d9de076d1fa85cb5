// What a session works with: model, mode and other settings, small under the text.
import { page } from "../../page.js";
import { typing } from "./typing.js";
import { ask } from "../parts/dialog.js";
import { IconButton } from "../parts/icon.js";
import { html, useEffect, useId, useState } from "../preact.js";

/** @import {ConfigProperty, ConfigSchema, Customization, FreeForm} from "../../ahp/types.d.ts" */
/** @import {ModelInfo, ModelSelection} from "../../ahp/types.d.ts" */

/**
 * @typedef {object} PickersProps
 * @property {readonly ModelInfo[]} models
 * @property {ModelSelection | undefined} model
 * @property {(model: ModelSelection) => void} onModel
 * @property {ConfigSchema | undefined} schema
 * @property {FreeForm} values
 * @property {(values: FreeForm) => void} onConfig what was changed
 * @property {readonly Customization[] | undefined} customizations where custom agents are among
 * @property {string | undefined} agent the custom agent, by its URI
 * @property {(agent: {uri: string} | undefined) => void} onAgent
 * @property {boolean} isNew whether the session is still to be made: then all settings can be chosen
 * @property {{provider?: string, workingDirectory?: string}} context
 */

/** @param {PickersProps} props */
export function Pickers(props) {
  const { models, model, onModel, schema, values, onConfig, agent, onAgent, isNew, context } = props;
  const agents = (props.customizations ?? [])
    .filter((one) => one.enabled)
    .flatMap((one) => (one.children ?? []).filter((child) => child.type === "agent"));
  const chosen = models.find((one) => one.id === model?.id);
  const open = Object.entries(schema?.properties ?? {}).filter(
    ([, one]) => !one.readOnly && (isNew || one.sessionMutable),
  );
  const small = open.filter(([, property]) => isSmall(property));
  const large = open.filter(([, property]) => !isSmall(property));
  const ofModel = Object.entries(chosen?.configSchema?.properties ?? {}).filter(([, one]) => isSmall(one));
  const edit = async () => {
    const body = (/** @type {(value: FreeForm | null) => void} */ done) =>
      html`<${Settings} properties=${large} values=${values} context=${context} onDone=${done} />`;
    const changed = await ask("Settings of this session", body);
    if (changed && Object.keys(changed).length) onConfig(changed);
  };
  return html`<div class="pickers">
    ${agents.length > 0 && html`<${Select}
      title="Custom agent"
      value=${agent ?? ""}
      choices=${[
        { value: "", label: "No custom agent" },
        ...agents.map((one) => ({ value: one.uri, label: one.name })),
      ]}
      onChange=${(/** @type {string} */ uri) => onAgent(uri ? { uri } : undefined)}
    />`}
    ${models.length > 0 && html`<${Select}
      title="Model"
      value=${model?.id ?? ""}
      choices=${[
        ...(chosen ? [] : [{ value: model?.id ?? "", label: model?.id ?? "Default model" }]),
        ...models
          .filter((one) => one.policyState !== "disabled" || one.id === model?.id)
          .map((one) => ({ value: one.id, label: one.name })),
      ]}
      onChange=${(/** @type {string} */ id) => id && onModel({ id })}
    />`}
    ${ofModel.map(([name, property]) => html`<${Picker}
      key=${`model ${name}`}
      property=${property}
      value=${model?.config?.[name]}
      onChange=${(/** @type {unknown} */ value) =>
        model && onModel({ id: model.id, config: { ...model.config, [name]: value } })}
    />`)}
    ${small.map(([name, property]) => html`<${Picker} key=${name} property=${property} value=${values[name]}
      onChange=${(/** @type {unknown} */ value) => onConfig({ [name]: value })} />`)}
    ${large.length > 0 && html`<${IconButton} name="cog" label="More settings" onClick=${edit} />`}
  </div>`;
}

/** Whether a setting is one choice of a few. @param {ConfigProperty} property */
function isSmall(property) {
  return property.type === "boolean" || (property.enum !== undefined && property.type === "string");
}

/** @param {{property: ConfigProperty, value: unknown, onChange: (value: unknown) => void}} props */
function Picker({ property, value, onChange }) {
  const now = value ?? property.default;
  if (property.type === "boolean") {
    return html`<${Select}
      title=${property.title}
      hint=${property.description}
      value=${String(Boolean(now))}
      choices=${[
        { value: "true", label: `${property.title}: on` },
        { value: "false", label: `${property.title}: off` },
      ]}
      onChange=${(/** @type {string} */ chosen) => onChange(chosen === "true")}
    />`;
  }
  const names = property.enum ?? [];
  const choices = names.map((name, at) => ({ value: name, label: property.enumLabels?.[at] ?? name }));
  if (!names.includes(String(now))) choices.unshift({ value: "", label: property.title });
  return html`<${Select} title=${property.title}
    hint=${property.enumDescriptions?.[names.indexOf(String(now))] ?? property.description}
    value=${names.includes(String(now)) ? String(now) : ""} choices=${choices}
    onChange=${(/** @type {string} */ chosen) => chosen && onChange(chosen)} />`;
}

/**
 * @typedef {object} SelectProps
 * @property {string} title
 * @property {string} [hint]
 * @property {string} value
 * @property {{value: string, label: string}[]} choices
 * @property {(value: string) => void} onChange
 */

/** @param {SelectProps} props */
export function Select({ title, hint, value, choices, onChange }) {
  return html`<label class="pick small" title=${hint ? `${title}: ${hint}` : title}>
    <span class="hidden">${title}</span>
    <select value=${value} onChange=${typing(onChange)}>
      ${choices.map((one) => html`<option value=${one.value} selected=${one.value === value}>${one.label}</option>`)}
    </select>
  </label>`;
}

/** @param {string} text */
function lines(text) {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
}

/**
 * The settings that are written, not chosen: text, numbers, and lists with one entry on each line.
 * @param {object} props @param {[string, ConfigProperty][]} props.properties @param {FreeForm} props.values
 * @param {object} props.context @param {(changed: FreeForm | null) => void} props.onDone
 */
function Settings({ properties, values, context, onDone }) {
  const [changed, setChanged] = useState(/** @type {FreeForm} */ ({}));
  return html`<form
    class="settings"
    onSubmit=${(/** @type {Event} */ event) => {
      event.preventDefault();
      onDone(changed);
    }}
  >
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
 * @typedef {object} SettingProps
 * @property {string} name
 * @property {ConfigProperty} property
 * @property {unknown} value
 * @property {object} context
 * @property {(value: unknown) => void} onChange
 */

/** @param {SettingProps} props */
function Setting({ name, property, value, context, onChange }) {
  const id = useId();
  const [offers, setOffers] = useState(/** @type {{value: string, label: string}[]} */ ([]));
  useEffect(() => {
    if (!property.enumDynamic) return;
    page.host.request("sessionConfigCompletions", { ...context, property: name }).then(
      ({ items }) => setOffers(items),
      () => {}, // it is only a help: the value can be written
    );
  }, []);
  const isList = property.type === "array";
  const isNumber = property.type === "number" || property.type === "integer";
  return html`<div class="setting">
    <label for=${id}>${property.title}</label>
    ${property.description && html`<p class="faint small">${property.description}</p>`}
    ${property.type === "object"
      ? html`<p class="faint small">This is set in the file of settings.</p>`
      : isList
        ? html`<textarea id=${id} rows="3" placeholder="One on each line"
            value=${(Array.isArray(value) ? value : []).join("\n")}
            onChange=${typing((text) => onChange(lines(text)))}></textarea>`
        : html`<input id=${id} list=${offers.length ? `${id}-offers` : undefined}
            type=${isNumber ? "number" : "text"} value=${value ?? ""}
            onChange=${typing((text) => onChange(isNumber ? Number(text) : text))} />`}
    ${offers.length > 0 && html`<datalist id=${`${id}-offers`}>
      ${offers.map((one) => html`<option value=${one.value}>${one.label}</option>`)}
    </datalist>`}
  </div>`;
}
