// How long a message of agent-relay takes: through its daemon, and into the input of an agent on its pty.
//
// Usage: agent_relay.mjs FOLDER MESSAGES, where FOLDER has it in node_modules. Prints seconds a message, as JSON.
// The daemon keeps messages in memory only, and drops what a sender says beyond 500 a second: so few are sent.

import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, messages] = [process.argv[2], Number(process.argv[3])];
const home = mkdtempSync(join(folder, 'h'));
process.env.HOME = home;
process.env.AGENT_RELAY_LOG_LEVEL = 'ERROR';
process.chdir(home);
console.log = console.warn = console.error = () => {};

const part = (path) => import(pathToFileURL(join(folder, 'node_modules/agent-relay/dist', path)).href);
const { Daemon } = await part('daemon/server.js');
const { RelayClient } = await part('wrapper/client.js');
const { RelayPtyOrchestrator } = await part('wrapper/relay-pty-orchestrator.js');

const socketPath = join(home, 'd.sock');
const daemon = new Daemon({
  socketPath, pidFilePath: join(home, 'd.pid'), storageConfig: { type: 'memory' }, cloudSync: false, consensus: false,
});
await daemon.start();
const sender = new RelayClient({ socketPath, agentName: 'Sender', quiet: true });
const receiver = new RelayClient({ socketPath, agentName: 'Receiver', quiet: true });
await Promise.all([sender.connect(), receiver.connect()]);

async function timed(to, count, hear) {
  let missing = count;
  const start = performance.now();
  const all = new Promise((resolve) => hear(() => { missing -= 1; if (missing === 0) resolve(); }));
  for (let number = 0; number < count; number += 1) sender.sendMessage(to, `Please look at number-${number}-.`);
  await all;
  return (performance.now() - start) / 1000 / count;
}

const routed = await timed('Receiver', 400, (heard) => { receiver.onMessage = heard; });

const agent = new RelayPtyOrchestrator({
  name: 'Agent', command: 'cat', args: [], socketPath, cwd: home, skipInstructions: true, skipContinuity: true,
});
const seen = new Set();
let heardOf = () => {};
agent.on('output', (data) => {
  for (const [, number] of data.matchAll(/number-(\d+)-/g)) {
    if (!seen.has(number)) { seen.add(number); heardOf(); }
  }
});
await agent.start();
const input = await timed('Agent', messages, (heard) => { heardOf = heard; });
process.stdout.write(`${JSON.stringify({ routed, input })}\n`);
await agent.stop();
process.exit(0);
