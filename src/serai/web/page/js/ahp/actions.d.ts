// Every action, by its type, and the envelope: who sent it, on which channel, and its number.

import type {
  ActiveClient,
  AgentInfo,
  ChangesetFile,
  ChangesetOperation,
  ChangesetSummary,
  ChannelState,
  ConfirmationOption,
  Customization,
  ErrorInfo,
  FileEdit,
  FreeForm,
  InputAnswer,
  InputRequest,
  ModelSelection,
  ResponsePart,
  TerminalClaim,
  TerminalInfo,
  Text,
  ToolContent,
  ToolDefinition,
  ToolResult,
  Uri,
  UsageInfo,
  UserMessage,
} from "./states.d.ts";

interface InTurn {
  turnId: string;
}
interface OfCall extends InTurn {
  toolCallId: string;
  _meta?: FreeForm;
}
export interface ToolCallActions {
  "session/toolCallStart": OfCall & { toolName: string; displayName: string; toolClientId?: string };
  "session/toolCallDelta": OfCall & { content: string; invocationMessage?: Text };
  "session/toolCallReady": OfCall & {
    invocationMessage: Text;
    toolInput?: string;
    confirmationTitle?: Text;
    edits?: { items: FileEdit[] };
    editable?: boolean;
    confirmed?: string;
    options?: ConfirmationOption[];
  };
  "session/toolCallConfirmed": OfCall & {
    approved: boolean;
    confirmed?: string;
    editedToolInput?: string;
    reason?: string;
    userSuggestion?: UserMessage;
    reasonMessage?: Text;
    selectedOptionId?: string;
  };
  "session/toolCallComplete": OfCall & { result: ToolResult; requiresResultConfirmation?: boolean };
  "session/toolCallResultConfirmed": OfCall & { approved: boolean };
  "session/toolCallContentChanged": OfCall & { content: ToolContent[] };
}
export interface SessionActions extends ToolCallActions {
  "session/ready": {};
  "session/creationFailed": { error: ErrorInfo };
  "session/turnStarted": InTurn & { userMessage: UserMessage; queuedMessageId?: string };
  "session/delta": InTurn & { partId: string; content: string };
  "session/reasoning": InTurn & { partId: string; content: string };
  "session/responsePart": InTurn & { part: ResponsePart };
  "session/usage": InTurn & { usage: UsageInfo };
  "session/turnComplete": InTurn;
  "session/turnCancelled": InTurn;
  "session/error": InTurn & { error: ErrorInfo };
  "session/truncated": { turnId?: string };
  "session/titleChanged": { title: string };
  "session/modelChanged": { model: ModelSelection };
  "session/agentChanged": { agent?: { uri: Uri } };
  "session/isReadChanged": { isRead: boolean };
  "session/isArchivedChanged": { isArchived: boolean };
  "session/activityChanged": { activity?: string };
  "session/changesetsChanged": { changesets?: ChangesetSummary[] };
  "session/serverToolsChanged": { tools: ToolDefinition[] };
  "session/activeClientChanged": { activeClient: ActiveClient | null };
  "session/activeClientToolsChanged": { tools: ToolDefinition[] };
  "session/customizationsChanged": { customizations: Customization[] };
  "session/customizationToggled": { id: string; enabled: boolean };
  "session/customizationUpdated": { customization: Customization };
  "session/customizationRemoved": { id: string };
  "session/configChanged": { config: FreeForm; replace?: boolean };
  "session/metaChanged": { _meta?: FreeForm };
  "session/pendingMessageSet": { kind: "steering" | "queued"; id: string; userMessage: UserMessage };
  "session/pendingMessageRemoved": { kind: "steering" | "queued"; id: string };
  "session/queuedMessagesReordered": { order: string[] };
  "session/inputRequested": { request: InputRequest };
  "session/inputAnswerChanged": { requestId: string; questionId: string; answer?: InputAnswer };
  "session/inputCompleted": {
    requestId: string;
    response: "accept" | "decline" | "cancel";
    answers?: Record<string, InputAnswer>;
  };
}
export interface RootActions {
  "root/agentsChanged": { agents: AgentInfo[] };
  "root/activeSessionsChanged": { activeSessions: number };
  "root/terminalsChanged": { terminals: TerminalInfo[] };
  "root/configChanged": { config: FreeForm; replace?: boolean };
}
export interface TerminalActions {
  "terminal/data": { data: string };
  "terminal/input": { data: string };
  "terminal/resized": { cols: number; rows: number };
  "terminal/claimed": { claim: TerminalClaim };
  "terminal/titleChanged": { title: string };
  "terminal/cwdChanged": { cwd: Uri };
  "terminal/exited": { exitCode?: number };
  "terminal/cleared": {};
  "terminal/commandDetectionAvailable": {};
  "terminal/commandExecuted": { commandId: string; commandLine: string; timestamp: number };
  "terminal/commandFinished": { commandId: string; exitCode?: number; durationMs?: number };
}
export interface ChangesetActions {
  "changeset/statusChanged": { status: string; error?: ErrorInfo };
  "changeset/fileSet": { file: ChangesetFile };
  "changeset/fileRemoved": { fileId: string };
  "changeset/operationsChanged": { operations?: ChangesetOperation[] };
  "changeset/cleared": {};
}
export interface ResourceWatchActions {
  "resourceWatch/changed": { changes: { items: { uri: Uri; type: string }[] } };
}
export type Actions = SessionActions & RootActions & TerminalActions & ChangesetActions & ResourceWatchActions;
/** An action, by its type. */
export type Action<K extends keyof Actions = keyof Actions> = { [T in K]: { type: T } & Actions[T] }[K];
/** What a reducer has for each action that it knows: the next state, or the same one. */
export type Handlers<S, A> = { [T in keyof A]: (state: S, action: { type: T } & A[T], now: number) => S };

export interface Envelope {
  channel: Uri;
  action: Action;
  serverSeq: number;
  origin?: { clientId: string; clientSeq: number };
  rejectionReason?: string;
}
export interface Snapshot {
  resource: Uri;
  state: ChannelState;
  fromSeq: number;
}
export interface Dispatched {
  channel: Uri;
  clientSeq: number;
  action: Action;
}
