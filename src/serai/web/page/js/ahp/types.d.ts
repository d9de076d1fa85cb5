// The part of AHP 0.2 that the page reads and writes, as it is on the wire. `serai.ahp` has the whole of it.
// Optional fields are absent, never null; unions may have variants that are newer than the page.

export type Uri = string;
export type FreeForm = Record<string, unknown>;
export type Text = string | { markdown: string };
export interface ContentRef { uri: Uri; sizeHint?: number; contentType?: string }
export interface FileEditSide { uri: Uri; content: ContentRef }
export interface FileEdit { before?: FileEditSide; after?: FileEditSide; diff?: { added?: number; removed?: number } }
export interface ErrorInfo { errorType: string; message: string; stack?: string }
export interface TextPosition { line: number; character: number }
export interface TextRange { start: TextPosition; end: TextPosition }
export interface UsageInfo {
  inputTokens?: number;
  outputTokens?: number;
  cacheReadTokens?: number;
  model?: string;
  _meta?: FreeForm;
}
export interface ConfigProperty {
  type: string;
  title: string;
  description?: string;
  default?: unknown;
  enum?: string[];
  enumLabels?: string[];
  enumDescriptions?: string[];
  enumDynamic?: boolean;
  readOnly?: boolean;
  sessionMutable?: boolean;
}
export interface ConfigSchema { properties: Record<string, ConfigProperty> }
export interface ConfigState { schema: ConfigSchema; values: FreeForm }

// -- messages and questions ----------------------------------------------------------------------------------------

export type MessageAttachment = { label: string; range?: TextRange; displayKind?: string; _meta?: FreeForm } & (
  | { type: "simple" }
  | { type: "embeddedResource"; data: string; contentType: string }
  | (ContentRef & { type: "resource" })
);
export interface UserMessage { text: string; attachments?: MessageAttachment[]; _meta?: FreeForm }
export interface PendingMessage { id: string; userMessage: UserMessage }

export interface InputOption { id: string; label: string; description?: string; recommended?: boolean }
interface Bounds { min?: number; max?: number }
interface Choices { options: InputOption[]; allowFreeformInput?: boolean }
export type InputQuestion = { id: string; message: string; title?: string; required?: boolean } & (
  | (Bounds & { kind: "text"; format?: string; defaultValue?: string })
  | (Bounds & { kind: "number" | "integer"; defaultValue?: number })
  | { kind: "boolean"; defaultValue?: boolean }
  | (Choices & { kind: "single-select" })
  | (Choices & Bounds & { kind: "multi-select" })
);
export type InputAnswerValue =
  | { kind: "text"; value: string }
  | { kind: "number"; value: number }
  | { kind: "boolean"; value: boolean }
  | { kind: "selected"; value: string; freeformValues?: string[] }
  | { kind: "selected-many"; value: string[]; freeformValues?: string[] };
export type InputAnswer = { state: "draft" | "submitted"; value: InputAnswerValue } | { state: "skipped" };
export interface InputRequest {
  id: string;
  message?: string;
  url?: Uri;
  questions?: InputQuestion[];
  answers?: Record<string, InputAnswer>;
}

// -- tools ---------------------------------------------------------------------------------------------------------

export interface ToolDefinition {
  name: string;
  annotations?: { readOnlyHint?: boolean; destructiveHint?: boolean };
}
export type ToolContent =
  | { type: "text"; text: string }
  | { type: "embeddedResource"; data: string; contentType: string }
  | (ContentRef & { type: "resource" })
  | (FileEdit & { type: "fileEdit" })
  | { type: "terminal"; resource: Uri; title: string }
  | { type: "subagent"; resource: Uri; title: string; agentName?: string };
export interface ToolResult {
  success: boolean;
  pastTenseMessage: Text;
  content?: ToolContent[];
  structuredContent?: FreeForm;
  error?: { message: string };
}
export interface ConfirmationOption { id: string; label: string; kind: "approve" | "deny" | string; group?: number }
export interface ToolCallBase {
  toolCallId: string;
  toolName: string;
  displayName: string;
  toolClientId?: string;
  _meta?: FreeForm;
}
export interface StreamingCall extends ToolCallBase {
  status: "streaming";
  partialInput?: string;
  invocationMessage?: Text;
}
interface Asked { invocationMessage: Text; toolInput?: string }
interface Confirmed { confirmed: string; selectedOption?: ConfirmationOption }
interface Confirmable extends Asked {
  confirmationTitle?: Text;
  edits?: { items: FileEdit[] };
  editable?: boolean;
  options?: ConfirmationOption[];
}
export interface PendingCall extends ToolCallBase, Confirmable { status: "pending-confirmation" }
export interface RunningCall extends ToolCallBase, Asked, Confirmed { status: "running"; content?: ToolContent[] }
export interface FinishedCall extends ToolCallBase, ToolResult, Asked, Confirmed {
  status: "pending-result-confirmation" | "completed";
}
export interface CancelledCall extends ToolCallBase, Asked {
  status: "cancelled";
  reason: "denied" | "skipped" | "result-denied" | string;
  reasonMessage?: Text;
  userSuggestion?: UserMessage;
  selectedOption?: ConfirmationOption;
}
export type ToolCall = StreamingCall | PendingCall | RunningCall | FinishedCall | CancelledCall;

// -- a session -----------------------------------------------------------------------------------------------------

export interface ToolCallPart { kind: "toolCall"; toolCall: ToolCall }
export interface ResourcePart extends ContentRef { kind: "contentRef" }
export interface NotificationPart { kind: "systemNotification"; content: Text }
export type ResponsePart =
  | { kind: "markdown"; id: string; content: string }
  | { kind: "reasoning"; id: string; content: string }
  | ToolCallPart
  | ResourcePart
  | NotificationPart;
export interface ActiveTurn {
  id: string;
  userMessage: UserMessage;
  responseParts: readonly ResponsePart[];
  usage?: UsageInfo;
}
export interface Turn extends ActiveTurn { state: "complete" | "cancelled" | "error" | string; error?: ErrorInfo }

export interface ModelSelection { id: string; config?: FreeForm }
export interface ChangesetSummary {
  label: string;
  uriTemplate: string;
  description?: string;
  files?: number;
  additions?: number;
  deletions?: number;
}
export interface SessionSummary {
  resource: Uri;
  provider: string;
  title: string;
  status: number;
  createdAt: number;
  modifiedAt: number;
  activity?: string;
  project?: { uri: Uri; displayName: string };
  model?: ModelSelection;
  agent?: { uri: Uri };
  workingDirectory?: Uri;
  changesets?: ChangesetSummary[];
}
export interface Customization {
  type: "plugin" | "directory" | string;
  id: string;
  uri: Uri;
  name: string;
  enabled: boolean;
  children?: { type: string; id: string; uri: Uri; name: string }[];
}
export interface SessionState {
  summary: SessionSummary;
  lifecycle: "creating" | "ready" | "creationFailed" | string;
  turns: readonly Turn[];
  creationError?: ErrorInfo;
  serverTools?: ToolDefinition[];
  activeClient?: { clientId: string; tools: ToolDefinition[] };
  activeTurn?: ActiveTurn;
  steeringMessage?: PendingMessage;
  queuedMessages?: readonly PendingMessage[];
  inputRequests?: readonly InputRequest[];
  config?: ConfigState;
  customizations?: readonly Customization[];
  _meta?: FreeForm;
}

// -- the other channels --------------------------------------------------------------------------------------------

export interface ModelInfo {
  id: string;
  name: string;
  maxContextWindow?: number;
  policyState?: string;
  configSchema?: ConfigSchema;
}
export interface AgentInfo {
  provider: string;
  displayName: string;
  description: string;
  models: ModelInfo[];
  customizations?: Customization[];
}
export type TerminalClaim = { kind: "client"; clientId: string } | { kind: "session"; session: Uri };
export interface TerminalInfo { resource: Uri; title: string; claim: TerminalClaim; exitCode?: number }
export interface RootState {
  agents: AgentInfo[];
  activeSessions?: number;
  terminals?: TerminalInfo[];
  config?: ConfigState;
}
interface CommandStart { commandId: string; commandLine: string; timestamp: number }
interface CommandEnd { exitCode?: number; durationMs?: number }
export type TerminalPart =
  | { type: "unclassified"; value: string }
  | (CommandStart & CommandEnd & { type: "command"; output: string; isComplete: boolean });
export interface TerminalState {
  title: string;
  content: readonly TerminalPart[];
  claim: TerminalClaim;
  cwd?: Uri;
  cols?: number;
  rows?: number;
  exitCode?: number;
  supportsCommandDetection?: boolean;
}
export interface ChangesetFile { id: string; edit: FileEdit; _meta?: FreeForm }
export interface ChangesetOperation {
  id: string;
  label: string;
  scopes: string[];
  description?: string;
  confirmation?: Text;
}
export interface ChangesetState {
  status: "computing" | "ready" | "error" | string;
  files: readonly ChangesetFile[];
  error?: ErrorInfo;
  operations?: ChangesetOperation[];
}
export type ChannelState = RootState | SessionState | TerminalState | ChangesetState;

// -- actions -------------------------------------------------------------------------------------------------------

type InTurn<T = {}> = { turnId: string } & T;
type OfCall<T = {}> = InTurn<{ toolCallId: string; _meta?: FreeForm }> & T;
type Growing = InTurn<{ partId: string; content: string }>;
type Waiting = { kind: "steering" | "queued"; id: string };
type Settings = { config: FreeForm; replace?: boolean };
export interface SessionActions {
  "session/ready": {};
  "session/creationFailed": { error: ErrorInfo };
  "session/turnStarted": InTurn<{ userMessage: UserMessage; queuedMessageId?: string }>;
  "session/delta": Growing;
  "session/reasoning": Growing;
  "session/responsePart": InTurn<{ part: ResponsePart }>;
  "session/usage": InTurn<{ usage: UsageInfo }>;
  "session/turnComplete": InTurn;
  "session/turnCancelled": InTurn;
  "session/error": InTurn<{ error: ErrorInfo }>;
  "session/truncated": Partial<InTurn>;
  "session/toolCallStart": OfCall<{ toolName: string; displayName: string; toolClientId?: string }>;
  "session/toolCallDelta": OfCall<{ content: string; invocationMessage?: Text }>;
  "session/toolCallReady": OfCall<Confirmable & { confirmed?: string }>;
  "session/toolCallConfirmed": OfCall<Partial<Pick<CancelledCall, "reason" | "reasonMessage" | "userSuggestion">>> & {
    approved: boolean;
    confirmed?: string;
    editedToolInput?: string;
    selectedOptionId?: string;
  };
  "session/toolCallComplete": OfCall<{ result: ToolResult; requiresResultConfirmation?: boolean }>;
  "session/toolCallResultConfirmed": OfCall<{ approved: boolean }>;
  "session/toolCallContentChanged": OfCall<{ content: ToolContent[] }>;
  "session/titleChanged": { title: string };
  "session/modelChanged": { model: ModelSelection };
  "session/agentChanged": { agent?: { uri: Uri } };
  "session/isReadChanged": { isRead: boolean };
  "session/isArchivedChanged": { isArchived: boolean };
  "session/activityChanged": { activity?: string };
  "session/changesetsChanged": { changesets?: ChangesetSummary[] };
  "session/serverToolsChanged": { tools: ToolDefinition[] };
  "session/activeClientChanged": { activeClient: SessionState["activeClient"] | null };
  "session/activeClientToolsChanged": { tools: ToolDefinition[] };
  "session/customizationsChanged": { customizations: Customization[] };
  "session/customizationToggled": { id: string; enabled: boolean };
  "session/customizationUpdated": { customization: Customization };
  "session/customizationRemoved": { id: string };
  "session/configChanged": Settings;
  "session/metaChanged": { _meta?: FreeForm };
  "session/pendingMessageSet": Waiting & { userMessage: UserMessage };
  "session/pendingMessageRemoved": Waiting;
  "session/queuedMessagesReordered": { order: string[] };
  "session/inputRequested": { request: InputRequest };
  "session/inputAnswerChanged": { requestId: string; questionId: string; answer?: InputAnswer };
  "session/inputCompleted": Pick<InputRequest, "answers"> & { requestId: string; response: "accept" | "decline" };
}
export interface RootActions {
  "root/agentsChanged": { agents: AgentInfo[] };
  "root/activeSessionsChanged": { activeSessions: number };
  "root/terminalsChanged": { terminals: TerminalInfo[] };
  "root/configChanged": Settings;
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
  "terminal/commandExecuted": CommandStart;
  "terminal/commandFinished": CommandEnd & { commandId: string };
}
export interface ChangesetActions {
  "changeset/statusChanged": { status: string; error?: ErrorInfo };
  "changeset/fileSet": { file: ChangesetFile };
  "changeset/fileRemoved": { fileId: string };
  "changeset/operationsChanged": { operations?: ChangesetOperation[] };
  "changeset/cleared": {};
}
export type Actions = SessionActions & RootActions & TerminalActions & ChangesetActions;
/** An action, by its type. */
export type Action<K extends keyof Actions = keyof Actions> = { [T in K]: { type: T } & Actions[T] }[K];
/** What a reducer has for each action that it knows: the next state, or the same one. */
export type Handlers<S, A> = { [T in keyof A]: (state: S, action: { type: T } & A[T], now: number) => S };

export interface Dispatched { channel: Uri; clientSeq: number; action: Action }
export interface Envelope {
  channel: Uri;
  action: Action;
  serverSeq: number;
  origin?: { clientId: string; clientSeq: number };
  rejectionReason?: string;
}

// -- commands ------------------------------------------------------------------------------------------------------

export interface Snapshot { resource: Uri; state: ChannelState; fromSeq: number }
export interface InitializeResult { serverSeq: number; snapshots: Snapshot[]; defaultDirectory?: Uri }
export type ReconnectResult =
  { type: "replay"; actions: Envelope[]; missing: Uri[] } | { type: "snapshot"; snapshots: Snapshot[] };
export interface CompletionItem {
  insertText: string;
  attachment: MessageAttachment;
  rangeStart?: number;
  rangeEnd?: number;
}
/**
 * An agent, installed or not: how to get it, or why it cannot be used. `signedIn` is null where nobody knows; `handle`
 * is where one writes to it, if it takes messages and has no sessions.
 */
export interface FoundAgent extends Partial<Record<"install" | "homepage" | "reason" | "handle", string>> {
  provider: string;
  displayName: string;
  installed: boolean;
  signedIn: boolean | null;
}
type Place = { provider?: string; workingDirectory?: Uri; config?: FreeForm };
/** The commands that views send: what they take beside `channel`, and what they answer. */
export interface Commands {
  ping: [{}, null];
  resolveSessionConfig: [Place, ConfigState];
  sessionConfigCompletions: [Place & { property: string }, { items: { value: string; label: string }[] }];
  createSession: [
    Place & { model?: ModelSelection; agent?: { uri: Uri }; fork?: { session: Uri; turnId: string } },
    {} | null,
  ];
  disposeSession: [{}, {} | null];
  completions: [{ kind: "userMessage"; text: string; offset: number }, { items: CompletionItem[] }];
  createTerminal: [{ claim: TerminalClaim; cwd?: Uri; cols?: number; rows?: number }, {} | null];
  disposeTerminal: [{}, {} | null];
  invokeChangesetOperation: [
    { operationId: string; target?: { kind: "resource" | "range"; resource: Uri; range?: TextRange; side?: string } },
    { message?: Text; followUp?: { content: ContentRef; external?: boolean } },
  ];
  resourceRead: [{ uri: Uri; encoding?: string }, { data: string; encoding: "base64" | "utf-8"; contentType?: string }];
  resourceList: [{ uri: Uri }, { entries: { name: string; type: "file" | "directory" | "symlink" | string }[] }];
  resourceResolve: [{ uri: Uri }, { type: string; size?: number }];
  "serai/agents": [{}, { agents: FoundAgent[] }];
  "serai/installAgent": [{ provider: string }, { terminal?: Uri }];
  "serai/signIn": [
    { provider: string },
    { method: { description?: string; variables?: string[] }; terminal?: Uri; signedIn?: boolean; message?: string },
  ];
}
