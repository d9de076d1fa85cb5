"""Every error that a person or a program can meet, in one tree.

    SeraiError
    ├── AccessRefused           access_refused            the host does not let this client in
    ├── AgentError              agent_error               an agent that is driven over ACP has failed
    │   ├── AgentClosed         connection_closed         its process, or its output, has ended
    │   ├── AgentInactive       inactivity_timeout        nothing was heard of it for too long
    │   ├── AgentInitFailed     init_failed               it could not be initialised
    │   │   ├── AgentInitTimedOut  init_timeout           it did not answer in time
    │   │   └── VersionMismatch  protocol_mismatch        it speaks another version of ACP
    │   ├── AgentNotInstalled   agent_not_installed       its program is not there
    │   ├── AgentNotStarted     spawn_failed              its program could not be started
    │   ├── AgentOverloaded     overloaded                what it works with is too busy
    │   ├── AgentRequestFailed  stream_error              it answered a request with an error
    │   │   ├── SessionCreateFailed  session_create_failed  it could not make a session
    │   │   └── SessionLoadFailed  session_load_failed    it could not open an earlier session
    │   ├── AuthRequired        auth_required             a person has to sign in first
    │   ├── CancelIgnored       cancel_ignored            it did not stop when it was told to
    │   ├── CapabilityNotSupportedError  capability_not_supported  it does not offer what was asked for
    │   ├── ContextTooLong      context_length            the conversation is too long for its model
    │   ├── JsonInvalid         json_validation           its answer is not the JSON that was asked for
    │   ├── LineTooLong         line_too_long             it wrote a line that is too long to be read
    │   ├── PermissionTimedOut  permission_timeout        nobody answered what it asked permission for
    │   ├── PromptInvalid       invalid_prompt_content    nothing of a prompt is left that it can take
    │   ├── PromptUnderWay      prompt_under_way          its session has a prompt under way already
    │   ├── RateLimited         rate_limit                it sent too many requests to its model
    │   └── UsageLimitReached   usage_limit               its account has nothing left to spend
    ├── AgentUnknown            agent_unknown             there is no agent of that name
    ├── AttemptsExhausted       retry_exhausted           several attempts brought no answer
    ├── BudgetExceeded          budget_exceeded           what may be spent has been spent
    ├── CapabilityUnsupported   capability_unsupported    a session was asked for what it did not declare
    ├── ConfigInvalid           config_invalid            a setting has a value that it cannot have
    ├── ConnectionLost          connection_lost           the host cannot be reached, or is gone
    ├── DiscardBusy             discard_busy              a discard is under way, or is being undone
    ├── DiscardUnknown          discard_unknown           there is no discard of that name
    ├── Fenced                  fenced                    another host has taken over a session
    ├── FileUnreadable          file_unreadable           a file that was named cannot be read
    ├── FolderMoved             folder_moved              the folder of a session is another one
    ├── FolderTooLarge          folder_too_large          it has more files than are recorded
    ├── GitFailed               git_failed                a git command did not do what it was asked
    │   └── GitTimedOut         git_timed_out             it took too long and was ended
    ├── GitUnavailable          git_unavailable           there is no git that could be used
    ├── IllegalTransition       illegal_transition        a state machine does not have that step
    ├── Mismatch                mismatch                  JSON, but not of the shape that was asked for
    ├── ProcessNotStarted       process_not_started       a process could not be started
    ├── ProtocolError           protocol_error            a JSON-RPC error, with its number
    │   ├── ParseError          parse_error               -32700  the frame is not JSON
    │   ├── InvalidRequest      invalid_request           -32600  JSON, but not a message
    │   ├── MethodNotFound      method_not_found          -32601  no such command
    │   └── InvalidParams       invalid_params            -32602  a field is missing or wrong
    ├── Rejected                rejected                  the host refused an action
    ├── RelayError              relay_error               the relay refused a call
    │   ├── DeadlineExceeded    deadline_exceeded         its deadline has passed already
    │   ├── DeliveryFinal       delivery_final            a delivery has its last receipt already
    │   ├── EmptyMessage        empty_message             a message has neither text nor an attachment
    │   ├── Forbidden           forbidden                 whoever calls may not do this
    │   ├── IdempotencyConflict idempotency_conflict      the key stands for another message
    │   ├── LeaseLost           lease_lost                a delivery was offered to someone else
    │   ├── MessageTooLarge     message_too_large         a message has too many bytes
    │   ├── NameTaken           name_taken                someone else has this name
    │   ├── RoomArchived        room_archived             nothing can be added to an archived room
    │   ├── UnknownDelivery     unknown_delivery          there is no such delivery
    │   ├── UnknownMessage      unknown_message           there is no such message
    │   ├── UnknownMode         unknown_mode              there is no such delivery mode
    │   ├── UnknownRoom         unknown_room              there is no such room
    │   └── UnknownTarget       unknown_target            nobody has this name
    ├── SessionFailed           session_failed            a session could not be created
    ├── SessionGone             session_gone              a session is no longer there
    ├── StorageFailed           storage_failed            it is not known what was written: start again
    ├── StorageUnavailable      storage_unavailable       nothing was written; it may work later
    ├── StorageUnreadable       storage_unreadable        the database cannot be opened
    │   ├── DatabaseCorrupt     database_corrupt          its content is damaged
    │   ├── DatabaseLocked      database_locked           another host holds it
    │   ├── SchemaNewer         schema_newer              a newer Serai wrote it
    │   └── WrongKey            wrong_key                 the key does not open it
    └── TerminalsUnavailable    terminals_unavailable     this system has no terminals that can be used

`code` is stable: programs may depend on it. The message says what happened; `remedy` says what to do.
"""

from __future__ import annotations

from serai.errors.agents import (
    AgentClosed,
    AgentError,
    AgentInactive,
    AgentInitFailed,
    AgentInitTimedOut,
    AgentNotInstalled,
    AgentNotStarted,
    AgentOverloaded,
    AgentRequestFailed,
    AgentUnknown,
    AttemptsExhausted,
    AuthRequired,
    BudgetExceeded,
    CancelIgnored,
    CapabilityNotSupportedError,
    ContextTooLong,
    JsonInvalid,
    LineTooLong,
    PermissionTimedOut,
    PromptInvalid,
    PromptUnderWay,
    RateLimited,
    SessionCreateFailed,
    SessionLoadFailed,
    UsageLimitReached,
    VersionMismatch,
)
from serai.errors.base import (
    SeraiError,
)
from serai.errors.machine import (
    ConfigInvalid,
    DiscardBusy,
    DiscardUnknown,
    FileUnreadable,
    FolderMoved,
    FolderTooLarge,
    GitFailed,
    GitTimedOut,
    GitUnavailable,
    ProcessNotStarted,
    TerminalsUnavailable,
)
from serai.errors.protocol import (
    InvalidParams,
    InvalidRequest,
    MethodNotFound,
    Mismatch,
    ParseError,
    ProtocolError,
)
from serai.errors.relay import (
    DeadlineExceeded,
    DeliveryFinal,
    EmptyMessage,
    Forbidden,
    IdempotencyConflict,
    LeaseLost,
    MessageTooLarge,
    NameTaken,
    RelayError,
    RoomArchived,
    UnknownDelivery,
    UnknownMessage,
    UnknownMode,
    UnknownRoom,
    UnknownTarget,
)
from serai.errors.sessions import (
    AccessRefused,
    CapabilityUnsupported,
    ConnectionLost,
    IllegalTransition,
    Rejected,
    SessionFailed,
    SessionGone,
)
from serai.errors.storage import (
    DatabaseCorrupt,
    DatabaseLocked,
    Fenced,
    SchemaNewer,
    StorageFailed,
    StorageUnavailable,
    StorageUnreadable,
    WrongKey,
)

__all__ = [
    "AccessRefused",
    "AgentClosed",
    "AgentError",
    "AgentInactive",
    "AgentInitFailed",
    "AgentInitTimedOut",
    "AgentNotInstalled",
    "AgentNotStarted",
    "AgentOverloaded",
    "AgentRequestFailed",
    "AgentUnknown",
    "AttemptsExhausted",
    "AuthRequired",
    "BudgetExceeded",
    "CancelIgnored",
    "CapabilityNotSupportedError",
    "CapabilityUnsupported",
    "ConfigInvalid",
    "ConnectionLost",
    "ContextTooLong",
    "DatabaseCorrupt",
    "DatabaseLocked",
    "DeadlineExceeded",
    "DeliveryFinal",
    "DiscardBusy",
    "DiscardUnknown",
    "EmptyMessage",
    "Fenced",
    "FileUnreadable",
    "FolderMoved",
    "FolderTooLarge",
    "Forbidden",
    "GitFailed",
    "GitTimedOut",
    "GitUnavailable",
    "IdempotencyConflict",
    "IllegalTransition",
    "InvalidParams",
    "InvalidRequest",
    "JsonInvalid",
    "LeaseLost",
    "LineTooLong",
    "MessageTooLarge",
    "MethodNotFound",
    "Mismatch",
    "NameTaken",
    "ParseError",
    "PermissionTimedOut",
    "ProcessNotStarted",
    "PromptInvalid",
    "PromptUnderWay",
    "ProtocolError",
    "RateLimited",
    "Rejected",
    "RelayError",
    "RoomArchived",
    "SchemaNewer",
    "SeraiError",
    "SessionCreateFailed",
    "SessionFailed",
    "SessionGone",
    "SessionLoadFailed",
    "StorageFailed",
    "StorageUnavailable",
    "StorageUnreadable",
    "TerminalsUnavailable",
    "UnknownDelivery",
    "UnknownMessage",
    "UnknownMode",
    "UnknownRoom",
    "UnknownTarget",
    "UsageLimitReached",
    "VersionMismatch",
    "WrongKey",
]

for _error in __all__:
    globals()[_error].__module__ = __name__  # by this name they are imported, so tracebacks show it too
