# How the rest is read, after the person's own file: whatever that has set, and with nothing of it shown. All options are
# theirs again afterwards.
__serai_load() {
  builtin emulate -LR zsh
  builtin unsetopt aliases xtrace
  builtin source "${__serai_directory:h}/serai.zsh"
}

# Whether there is a trap before each command: then zsh itself sets this variable for each, and takes it away.
__serai_is_debugged() {
  builtin emulate -L zsh
  builtin setopt debug_before_cmd
  local ZSH_DEBUG_CMD=none
  [[ ${ZSH_DEBUG_CMD-} != none ]]
}

if (( $#__serai_zdotdir )); then ZDOTDIR=$__serai_zdotdir; else builtin unset ZDOTDIR; fi
builtin unset __serai_zdotdir
# A system's own /etc/zshrc may have put the history where it thought that the person's files are.
if [[ ${HISTFILE-} == $__serai_directory/* ]]; then
  HISTFILE=${ZDOTDIR:-$HOME}/${HISTFILE:t}
fi
if [[ -r ${ZDOTDIR:-$HOME}/.zshrc ]]; then
  builtin source "${ZDOTDIR:-$HOME}/.zshrc"
fi
# A trap before each command (DEBUG) would be sprung by each of ours, which nothing in zsh avoids. With one, nobody tells
# of commands, and the shell is as without us.
{
  if __serai_is_debugged; then
    builtin unset SERAI_NONCE __serai_directory
    builtin unfunction __serai_load __serai_is_debugged
  else
    __serai_load
  fi
} >/dev/null 2>&1
