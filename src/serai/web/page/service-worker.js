// Keeps the shell of the page, so that it opens at once and says that the host is away when it is.
// What the host says is never kept here: no session, no message, no token.
const ASSETS = "{assets}/";
const SHELL = `serai ${ASSETS}`;

self.addEventListener("install", () => self.skipWaiting());

self.addEventListener("activate", (event) => {
  event.waitUntil(
    caches
      .keys()
      .then((names) => Promise.all(names.filter((name) => name !== SHELL).map((name) => caches.delete(name))))
      .then(() => self.clients.claim()),
  );
});

self.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (event.request.method !== "GET" || url.origin !== location.origin) return;
  if (url.pathname.startsWith(ASSETS)) event.respondWith(kept(event.request));
  else if (event.request.mode === "navigate" && url.pathname === "/") event.respondWith(fresh(event.request));
});

/** An asset: its address has its hash, so what was kept is what would come. */
async function kept(request) {
  const shell = await caches.open(SHELL);
  const found = await shell.match(request);
  if (found) return found;
  const answer = await fetch(request);
  if (answer.ok) await shell.put(request, answer.clone());
  return answer;
}

/** The start document: from the host, and from before only while the host is away. */
async function fresh(request) {
  const shell = await caches.open(SHELL);
  try {
    const answer = await fetch(request);
    if (answer.ok) await shell.put("/", answer.clone());
    return answer;
  } catch (error) {
    const found = await shell.match("/");
    if (found) return found;
    throw error;
  }
}
