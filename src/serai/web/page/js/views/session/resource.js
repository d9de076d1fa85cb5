// Content that is elsewhere, or travels inside a message: pictures and texts are shown, the rest can be saved.
import { page } from "../../page.js";
import { nameOf, pathOf, size } from "../parts/format.js";
import { Icon } from "../parts/icon.js";
import { html, useEffect, useState } from "../preact.js";
import { Output } from "./output.js";

/** @import {ContentRef} from "../../ahp/types.d.ts" */

/** Types that a browser draws without running anything. */
const PICTURE = /^image\/(png|jpeg|gif|webp|avif|bmp)$/;
const TEXT = /^text\/|[/+](json|xml|yaml|javascript)$/;

/** @param {ContentRef} content */
export function isPicture(content) {
  return PICTURE.test(content.contentType ?? "");
}

/** The bytes of base64; none if it is not base64. @param {string} data */
function bytesOf(data) {
  try {
    return Uint8Array.from(atob(data), (sign) => sign.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

/** Content in base64. @param {{data: string, contentType: string, label?: string}} props */
export function Embedded({ data, contentType, label = "content" }) {
  const type = contentType.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (PICTURE.test(type)) return html`<img class="picture card" src=${`data:${type};base64,${data}`} alt=${label} />`;
  if (TEXT.test(type)) return html`<${Output} text=${new TextDecoder().decode(bytesOf(data))} label=${label} />`;
  const save = () => {
    const url = URL.createObjectURL(new Blob([bytesOf(data)], { type: "application/octet-stream" }));
    const link = Object.assign(document.createElement("a"), { href: url, download: label });
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  };
  return html`<button class="chip card" onClick=${save}>
    <${Icon} name="file" size=${12} /> ${label} · ${type} · ${size((data.length * 3) / 4)} · save
  </button>`;
}

/** What is larger is read only when someone asks for it. */
const MOST = 1_000_000;

/**
 * Content that the host reads when someone wants to see it; with `isShown`, as soon as it is on screen.
 * @param {{content: ContentRef, label?: string, isShown?: boolean}} props
 */
export function Resource({ content, label, isShown = false }) {
  const [read, setRead] = useState(/** @type {{data: string, encoding: string, contentType?: string} | null} */ (null));
  const [problem, setProblem] = useState("");
  const name = label ?? (content.uri.startsWith("serai-blob:") ? "Content" : nameOf(content.uri) || content.uri);
  const type = read?.contentType ?? content.contentType ?? "";
  const open = () => {
    setProblem("");
    page.host.request("resourceRead", { uri: content.uri }).then(setRead, (error) => setProblem(error.message));
  };
  useEffect(() => {
    if (isShown && (content.sizeHint ?? 0) <= MOST) open();
  }, [content.uri]);
  const bytes = content.sizeHint === undefined ? "" : size(content.sizeHint);
  const about = [content.contentType, bytes].filter(Boolean).join(" · ");
  return html`<div class="resource">
    <button class="chip card" aria-expanded=${read !== null} title=${pathOf(content.uri)}
      onClick=${() => (read ? setRead(null) : open())}>
      <${Icon} name="file" size=${12} /> <span class="cut">${name}</span>
      ${about && html`<span class="faint">${about}</span>`}
    </button>
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    ${read &&
    (read.encoding === "base64"
      ? html`<${Embedded} data=${read.data} contentType=${type || "application/octet-stream"} label=${name} />`
      : html`<${Output} text=${read.data} label=${name} />`)}
  </div>`;
}
