// A small graph: nodes in layers from top to bottom, each a button, and arrows between them.
import { html, useId } from "../preact.js";
import { HEIGHT, WIDTH, layered } from "./layers.js";

/** @import {GraphEdge, Placed} from "./layers.js" */
/** @typedef {{id: string, label: string, detail?: string, state?: string}} GraphNode */

/**
 * The graph, drawn. In the order of the page its buttons go from the first layer to the last.
 * @param {{nodes: readonly GraphNode[], edges: readonly GraphEdge[], chosen: string | null, label: string,
 *   onChoose: (id: string) => void}} props
 */
export function Graph({ nodes, edges, chosen, onChoose, label }) {
  const id = useId();
  const known = new Map(nodes.map((node) => [node.id, node]));
  const { placed, width, height } = layered([...known.keys()], edges);
  const places = new Map(placed.map((place) => [place.id, place]));
  return html`<div class="graph" role="group" aria-label=${label} tabindex="0">
    <div class="drawn" style=${{ width: `${width}px`, height: `${height}px` }}>
      <svg width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} aria-hidden="true">
        <defs>
          <marker
            id=${`${id}-arrow`} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"
          >
            <path class="arrow" d="M0 0l8 4l-8 4z" />
          </marker>
        </defs>
        ${edges.map(({ from, to }) => {
          const [above, below] = [places.get(from), places.get(to)];
          return above && below &&
            html`<path class="edge" d=${curve(above, below)} marker-end=${`url(#${id}-arrow)`} />`;
        })}
      </svg>
      ${placed.map(({ id: name, x, y }) => {
        const { label, detail, state } = /** @type {GraphNode} */ (known.get(name));
        return html`<button
          key=${name} class="node" data-state=${state} aria-pressed=${name === chosen}
          style=${{ left: `${x}px`, top: `${y}px`, width: `${WIDTH}px`, height: `${HEIGHT}px` }}
          onClick=${() => onChoose(name)}
        >
          <span class="cut">${label}</span>
          ${detail && html`<span class="cut faint small">${detail}</span>`}
          ${state && html`<span class="hidden">, ${state}</span>`}
        </button>`;
      })}
    </div>
  </div>`;
}

/** From the foot of one node to the head of another. @param {Placed} from @param {Placed} to */
function curve(from, to) {
  const [x1, y1, x2, y2] = [from.x + WIDTH / 2, from.y + HEIGHT, to.x + WIDTH / 2, to.y - 2];
  const bend = (y2 - y1) / 2;
  return `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}`;
}
