// The part of AHP 0.2 that the page reads and writes, as it is on the wire. `serai.ahp.types` and `serai.ahp.actions`
// are the whole of it. Optional fields are absent, never null; unions may have variants that are newer than the page.

export type Uri = string;
export type FreeForm = Record<string, unknown>;
export type Text = string | { markdown: string };
export interface ContentRef {
  uri: Uri;
  sizeHint?: number;
  contentType?: string;
}
export interface FileEditSide {
  uri: Uri;
  content: ContentRef;
}
export interface FileEdit {
  before?: FileEditSide;
  after?: FileEditSide;
  diff?: { added?: number; removed?: number };
}
export interface ErrorInfo {
  errorType: string;
  message: string;
  stack?: string;
}
export interface TextPosition {
  line: number;
  character: number;
}
export interface TextRange {
  start: TextPosition;
  end: TextPosition;
}
export interface UsageInfo {
  inputTokens?: number;
  outputTokens?: number;
  model?: string;
  cacheReadTokens?: number;
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
  readOnly?: boolean;
  items?: ConfigProperty;
  properties?: Record<string, ConfigProperty>;
  required?: string[];
  enumDynamic?: boolean;
  sessionMutable?: boolean;
}
export interface ConfigSchema {
  type: "object";
  properties: Record<string, ConfigProperty>;
  required?: string[];
}
export interface ConfigState {
  schema: ConfigSchema;
  values: FreeForm;
}

// -- messages and questions ----------------------------------------------------------------------------------------

interface AttachmentBase {
  label: string;
  range?: TextRange;
  displayKind?: string;
  _meta?: FreeForm;
}
export type MessageAttachment =
  | (AttachmentBase & { type: "simple"; modelRepresentation?: string })
  | (AttachmentBase & { type: "embeddedResource"; data: string; contentType: string; selection?: { range: TextRange } })
  | (AttachmentBase & ContentRef & { type: "resource"; selection?: { range: TextRange } });
export interface UserMessage {
  text: string;
  attachments?: MessageAttachment[];
  _meta?: FreeForm;
}
export interface PendingMessage {
  id: string;
  userMessage: UserMessage;
}

export interface InputOption {
  id: string;
  label: string;
  description?: string;
  recommended?: boolean;
}
interface QuestionBase {
  id: string;
  message: string;
  title?: string;
  required?: boolean;
}
export type InputQuestion =
  | (QuestionBase & { kind: "text"; format?: string; min?: number; max?: number; defaultValue?: string })
  | (QuestionBase & { kind: "number" | "integer"; min?: number; max?: number; defaultValue?: number })
  | (QuestionBase & { kind: "boolean"; defaultValue?: boolean })
  | (QuestionBase & { kind: "single-select"; options: InputOption[]; allowFreeformInput?: boolean })
  | (QuestionBase & {
      kind: "multi-select";
      options: InputOption[];
      allowFreeformInput?: boolean;
      min?: number;
      max?: number;
    });
export type InputAnswerValue =
  | { kind: "text"; value: string }
  | { kind: "number"; value: number }
  | { kind: "boolean"; value: boolean }
  | { kind: "selected"; value: string; freeformValues?: string[] }
  | { kind: "selected-many"; value: string[]; freeformValues?: string[] };
export type InputAnswer =
  { state: "draft" | "submitted"; value: InputAnswerValue } | { state: "skipped"; freeformValues?: string[] };
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
  title?: string;
  description?: string;
  inputSchema?: FreeForm;
  outputSchema?: FreeForm;
  annotations?: {
    title?: string;
    readOnlyHint?: boolean;
    destructiveHint?: boolean;
    idempotentHint?: boolean;
    openWorldHint?: boolean;
  };
  _meta?: FreeForm;
}
export type ToolContent =
  | { type: "text"; text: string }
  | { type: "embeddedResource"; data: string; contentType: string }
  | (ContentRef & { type: "resource" })
  | (FileEdit & { type: "fileEdit" })
  | { type: "terminal"; resource: Uri; title: string }
  | { type: "subagent"; resource: Uri; title: string; agentName?: string; description?: string };
export interface ToolResult {
  success: boolean;
  pastTenseMessage: Text;
  content?: ToolContent[];
  structuredContent?: FreeForm;
  error?: { message: string; code?: string };
}
export interface ConfirmationOption {
  id: string;
  label: string;
  kind: "approve" | "deny" | string;
  group?: number;
}
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
export interface PendingCall extends ToolCallBase {
  status: "pending-confirmation";
  invocationMessage: Text;
  toolInput?: string;
  confirmationTitle?: Text;
  edits?: { items: FileEdit[] };
  editable?: boolean;
  options?: ConfirmationOption[];
}
export interface RunningCall extends ToolCallBase {
  status: "running";
  invocationMessage: Text;
  confirmed: string;
  toolInput?: string;
  selectedOption?: ConfirmationOption;
  content?: ToolContent[];
}
export interface FinishedCall extends ToolCallBase, ToolResult {
  status: "pending-result-confirmation" | "completed";
  invocationMessage: Text;
  confirmed: string;
  toolInput?: string;
  selectedOption?: ConfirmationOption;
}
export interface CancelledCall extends ToolCallBase {
  status: "cancelled";
  invocationMessage: Text;
  reason: "denied" | "skipped" | "result-denied" | string;
  toolInput?: string;
  reasonMessage?: Text;
  userSuggestion?: UserMessage;
  selectedOption?: ConfirmationOption;
}
export type ToolCall = StreamingCall | PendingCall | RunningCall | FinishedCall | CancelledCall;

// -- a session -----------------------------------------------------------------------------------------------------

export interface MarkdownPart {
  kind: "markdown";
  id: string;
  content: string;
}
export interface ReasoningPart {
  kind: "reasoning";
  id: string;
  content: string;
}
export interface ToolCallPart {
  kind: "toolCall";
  toolCall: ToolCall;
}
export interface ResourcePart extends ContentRef {
  kind: "contentRef";
}
export interface NotificationPart {
  kind: "systemNotification";
  content: Text;
}
export type ResponsePart = MarkdownPart | ReasoningPart | ToolCallPart | ResourcePart | NotificationPart;
export interface ActiveTurn {
  id: string;
  userMessage: UserMessage;
  responseParts: readonly ResponsePart[];
  usage?: UsageInfo;
}
export interface Turn extends ActiveTurn {
  state: "complete" | "cancelled" | "error" | string;
  error?: ErrorInfo;
}

export interface ModelSelection {
  id: string;
  config?: FreeForm;
}
export interface ChangesetSummary {
  label: string;
  uriTemplate: string;
  description?: string;
  additions?: number;
  deletions?: number;
  files?: number;
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
export interface ActiveClient {
  clientId: string;
  tools: ToolDefinition[];
  displayName?: string;
  customizations?: Customization[];
}
export interface ChildCustomization {
  type: string;
  id: string;
  uri: Uri;
  name: string;
  range?: TextRange;
  description?: string;
  disableModelInvocation?: boolean;
  alwaysApply?: boolean;
  globs?: string[];
}
export interface Customization {
  type: "plugin" | "directory" | string;
  id: string;
  uri: Uri;
  name: string;
  enabled: boolean;
  clientId?: string;
  load?: { kind: string; message?: string };
  children?: ChildCustomization[];
  contents?: string;
  writable?: boolean;
}
export interface SessionState {
  summary: SessionSummary;
  lifecycle: "creating" | "ready" | "creationFailed" | string;
  turns: readonly Turn[];
  creationError?: ErrorInfo;
  serverTools?: ToolDefinition[];
  activeClient?: ActiveClient;
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
  provider: string;
  name: string;
  maxContextWindow?: number;
  supportsVision?: boolean;
  policyState?: string;
  configSchema?: ConfigSchema;
  _meta?: FreeForm;
}
export interface AgentInfo {
  provider: string;
  displayName: string;
  description: string;
  models: ModelInfo[];
  protectedResources?: FreeForm[];
  customizations?: Customization[];
}
export type TerminalClaim =
  { kind: "client"; clientId: string } | { kind: "session"; session: Uri; turnId?: string; toolCallId?: string };
export interface TerminalInfo {
  resource: Uri;
  title: string;
  claim: TerminalClaim;
  exitCode?: number;
}
export interface RootState {
  agents: AgentInfo[];
  activeSessions?: number;
  terminals?: TerminalInfo[];
  config?: ConfigState;
}
export interface TerminalCommandPart {
  type: "command";
  commandId: string;
  commandLine: string;
  output: string;
  timestamp: number;
  isComplete: boolean;
  exitCode?: number;
  durationMs?: number;
}
export type TerminalPart = { type: "unclassified"; value: string } | TerminalCommandPart;
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
export interface ChangesetFile {
  id: string;
  edit: FileEdit;
  _meta?: FreeForm;
}
export interface ChangesetOperation {
  id: string;
  label: string;
  scopes: string[];
  description?: string;
  confirmation?: Text;
  icon?: string;
}
export interface ChangesetState {
  status: "computing" | "ready" | "error" | string;
  files: readonly ChangesetFile[];
  error?: ErrorInfo;
  operations?: ChangesetOperation[];
}
export interface ResourceWatchState {
  root: Uri;
  recursive: boolean;
}
export type ChannelState = RootState | SessionState | TerminalState | ChangesetState | ResourceWatchState;

// -- actions -------------------------------------------------------------------------------------------------------

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

// -- commands ------------------------------------------------------------------------------------------------------

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
