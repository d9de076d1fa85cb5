// The tree of customisations: containers, and what is in them.
// Exports: toggle(containers, id, enabled), update(containers, container), remove(containers, id).

/** @import {Customization} from '../types.d.ts' */

import { putAt, withoutAt } from "./fields.js";

/**
 * Switch a container on or off; children have no switch of their own.
 * @param {readonly Customization[]} containers @param {string} id @param {boolean} enabled
 */
export function toggle(containers, id, enabled) {
  const at = containers.findIndex((container) => container.id === id);
  return at < 0 ? containers : putAt(containers, at, { .../** @type {Customization} */ (containers[at]), enabled });
}

/**
 * Put a container where the one with its id is, or at the end.
 * @param {readonly Customization[]} containers @param {Customization} container
 */
export function update(containers, container) {
  const at = container.id == null ? -1 : containers.findIndex((other) => other.id === container.id);
  return at < 0 ? [...containers, container] : putAt(containers, at, container);
}

/**
 * Take out the container with that id; failing that, the first child with that id of each container.
 * @param {readonly Customization[]} containers @param {string} id
 */
export function remove(containers, id) {
  const at = containers.findIndex((container) => container.id === id);
  return at < 0 ? containers.map((container) => withoutChild(container, id)) : withoutAt(containers, at);
}

/** @param {Customization} container @param {string} id */
function withoutChild(container, id) {
  const children = Array.isArray(container.children) ? container.children : [];
  const at = children.findIndex((child) => child?.id === id);
  return at < 0 ? container : { ...container, children: withoutAt(children, at) };
}
