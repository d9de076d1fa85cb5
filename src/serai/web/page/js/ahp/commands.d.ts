// The commands that the page sends: what each asks, and what it answers.

import type { Envelope, Snapshot } from "./actions.d.ts";
import type {
  ConfigState,
  ContentRef,
  FreeForm,
  MessageAttachment,
  ModelSelection,
  SessionSummary,
  TerminalClaim,
  Text,
  TextRange,
  Turn,
  Uri,
} from "./states.d.ts";

export interface InitializeResult {
  protocolVersion: string;
  serverSeq: number;
  snapshots: Snapshot[];
  defaultDirectory?: Uri;
  completionTriggerCharacters?: string[];
}
export type ReconnectResult =
  { type: "replay"; actions: Envelope[]; missing: Uri[] } | { type: "snapshot"; snapshots: Snapshot[] };
export interface CompletionItem {
  insertText: string;
  attachment: MessageAttachment;
  rangeStart?: number;
  rangeEnd?: number;
}
export interface SignInMethod {
  id: string;
  kind: "terminal" | "agent" | "environment" | string;
  name: string;
  description?: string;
  command?: string[];
  variables?: string[];
}
type Done = {} | null;
/** Commands by name: what they take beside `channel`, and what they answer. */
export interface Commands {
  ping: [{}, null];
  initialize: [{ protocolVersions: string[]; clientId: string; initialSubscriptions?: Uri[] }, InitializeResult];
  reconnect: [{ clientId: string; lastSeenServerSeq: number; subscriptions: Uri[] }, ReconnectResult];
  subscribe: [{}, { snapshot?: Snapshot }];
  listSessions: [{ filter?: FreeForm }, { items: SessionSummary[] }];
  resolveSessionConfig: [{ provider?: string; workingDirectory?: Uri; config?: FreeForm }, ConfigState];
  sessionConfigCompletions: [
    { provider?: string; workingDirectory?: Uri; config?: FreeForm; property: string; query?: string },
    { items: { value: string; label: string; description?: string }[] },
  ];
  createSession: [
    {
      provider?: string;
      model?: ModelSelection;
      agent?: { uri: Uri };
      workingDirectory?: Uri;
      config?: FreeForm;
      fork?: { session: Uri; turnId: string };
    },
    Done,
  ];
  disposeSession: [{}, Done];
  fetchTurns: [{ before?: string; limit?: number }, { turns: Turn[]; hasMore: boolean }];
  completions: [{ kind: "userMessage"; text: string; offset: number }, { items: CompletionItem[] }];
  createTerminal: [{ claim: TerminalClaim; name?: string; cwd?: Uri; cols?: number; rows?: number }, Done];
  disposeTerminal: [{}, Done];
  invokeChangesetOperation: [
    {
      operationId: string;
      target?:
        | { kind: "resource"; resource: Uri; side?: string }
        | { kind: "range"; resource: Uri; range: TextRange; side?: string };
    },
    { message?: Text; followUp?: { content: ContentRef; external?: boolean } },
  ];
  resourceRead: [
    { uri: Uri; encoding?: "base64" | "utf-8" },
    { data: string; encoding: "base64" | "utf-8"; contentType?: string },
  ];
  resourceWrite: [
    { uri: Uri; data: string; encoding: "base64" | "utf-8"; createOnly?: boolean; ifMatch?: string },
    Done,
  ];
  resourceList: [{ uri: Uri }, { entries: { name: string; type: "file" | "directory" | "symlink" | string }[] }];
  resourceResolve: [{ uri: Uri }, { uri: Uri; type: string; size?: number; mtime?: string; etag?: string }];
  "serai/signInMethods": [{ provider: string }, { methods: SignInMethod[]; signedIn?: boolean }];
  "serai/signIn": [
    { provider: string; methodId?: string; terminal?: Uri; cols?: number; rows?: number },
    { method: SignInMethod; terminal?: Uri; signedIn?: boolean; message?: string },
  ];
}
