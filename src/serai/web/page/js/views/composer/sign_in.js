// Signing in to an agent: the host runs what it takes, mostly in a terminal of the page.
import { page, showAside, told } from "../../page.js";

/** Begin to sign in. What the person has to do is shown: a terminal, or words. @param {string} provider */
export async function signIn(provider) {
  const answer = await told(page.host.request("serai/signIn", { provider }));
  if (!answer) return;
  const { terminal, message, method, signedIn } = answer;
  if (terminal) showAside("terminals", terminal);
  const variables = method.variables?.length ? `Set ${method.variables.join(", ")}, and start the host again.` : "";
  const rest = variables || (signedIn ? "You are signed in." : method.description);
  const words = message ?? (terminal ? "" : rest);
  if (words) page.host.notify(words);
}
