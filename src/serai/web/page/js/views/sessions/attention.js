// When an agent waits, the title, the badge and, if the person allowed it, a notification say so.
import { preference } from "../../host/preferences.js";
import { groupOf } from "../../host/sessions.js";
import { goTo, page } from "../../page.js";
import { useRef, useSignalEffect } from "../preact.js";

/** Whether the person wants notifications; the browser asks for leave once. */
export const notifies = preference("notifications", false);

/** Turn notifications on or off. */
export async function toggleNotifications() {
  notifies.value =
    !notifies.value && "Notification" in window && (await Notification.requestPermission()) === "granted";
}

/** Keeps title and badge true, and notifies of sessions that begin to wait. */
export function useAttention() {
  const known = useRef(/** @type {Set<string> | null} */ (null));
  useSignalEffect(() => {
    const waiting = [...page.host.summaries.value.values()].filter((summary) => groupOf(summary) === "needsYou");
    document.title = waiting.length ? `(${waiting.length}) Serai` : "Serai";
    const badge = /** @type {any} */ (navigator);
    if (waiting.length) badge.setAppBadge?.(waiting.length);
    else badge.clearAppBadge?.();
    const before = known.current;
    known.current = new Set(waiting.map((summary) => summary.resource));
    if (before === null || !notifies.value || document.hasFocus()) return;
    for (const summary of waiting.filter((one) => !before.has(one.resource))) {
      const text = summary.activity || "An agent waits for your answer";
      const notice = new Notification(summary.title || "Serai", { body: text, tag: summary.resource });
      notice.onclick = () => {
        window.focus();
        goTo(summary.resource);
      };
    }
  });
}
