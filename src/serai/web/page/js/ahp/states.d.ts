// The states of all channels, and what is in them.

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
