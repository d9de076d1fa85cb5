// Signing in to an agent: the host runs what it takes, mostly in a terminal of the page.
import { page, showAside } from "../../page.js";
import { Icon } from "../parts/icon.js";
import { html, useState } from "../preact.js";

/** Begin to sign in. What the person has to do is shown: a terminal, or words. @param {string} provider */
export async function signIn(provider) {
  try {
    const { terminal, message, method, signedIn } = await page.host.request("serai/signIn", { provider });
    if (terminal) showAside("terminals", terminal);
    const variables = method.variables?.length ? `Set ${method.variables.join(", ")}, and start the host again.` : "";
    const told =
      message ?? (terminal ? "" : variables || (signedIn ? "You are signed in." : (method.description ?? "")));
    if (told) page.host.notify(told, { code: "info" });
  } catch (error) {
    page.host.notify(/** @type {Error} */ (error));
  }
}

/** The agent wants someone to sign in. @param {{provider: string, name: string}} props */
export function SignInLine({ provider, name }) {
  const [isBusy, setBusy] = useState(false);
  const begin = async () => {
    setBusy(true);
    await signIn(provider);
    setBusy(false);
  };
  return html`<div class="row sign-in" role="status">
    <span class="needs" aria-hidden="true"><${Icon} name="plug" /></span>
    <span class="grow">${name} wants you to sign in.</span>
    <button type="button" class="main" disabled=${isBusy} onClick=${begin}>Sign in</button>
  </div>`;
}
