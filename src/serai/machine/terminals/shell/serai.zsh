# Serai's shell integration for zsh. The marks are those of serai.bash; `B` is not needed, since zsh itself says
# what was typed. It is read after the person's own .zshrc, in a function and with the options that zsh has by itself.
#
# A person's settings stay as they are, and none of them disturbs this. The functions here turn off that commands are
# shown (xtrace) and that variables are warned of, which zsh restores when they return, and so it does with
# local_options. What they return is not what the person's own functions see as $?.
#
# Marks are written to /dev/tty, as zsh does it with the prompt, wherever a person has sent what the shell prints. All
# else goes nowhere.

typeset -g __serai_nonce=${SERAI_NONCE-}
typeset -gi __serai_partial_line=0
builtin unset SERAI_NONCE __serai_directory
builtin unfunction __serai_load

__serai_mark() {
  [[ -c /dev/tty ]] && builtin printf '\e]633;%s;%s\a' "$__serai_nonce" "$1" >/dev/tty || :
}

# Sets __serai_escaped: the text with all that could end or divide a mark written as \xHH, and not too long.
__serai_escape() {
  builtin emulate -L zsh
  local text=${1[1,12288]} backslash='\'
  text=${text//$backslash/$backslash$backslash}
  text=${text//';'/${backslash}x3b}
  text=${text//$'\n'/${backslash}x0a}
  text=${text//$'\r'/${backslash}x0d}
  text=${text//$'\a'/${backslash}x07}
  text=${text//$'\e'/${backslash}x1b}
  text=${text//$'\x18'/${backslash}x18}
  text=${text//$'\x1a'/${backslash}x1a}
  __serai_escaped=$text
}

__serai_show_partial_line() {
  builtin emulate -L zsh
  [[ -c /dev/tty ]] && builtin print -Pn -- "%B%S%#%s%b${(l:COLUMNS-1:: :):-}\r \r" >/dev/tty || :
}

# For good: a trap before each command was set, and would be sprung by all that is done here.
__serai_leave() {
  builtin emulate -L zsh
  precmd_functions=("${(@)precmd_functions:#__serai_precmd}")
  preexec_functions=("${(@)preexec_functions:#__serai_preexec}")
}

__serai_before_prompt() {
  local __serai_escaped
  __serai_mark "D;$exit_status"
  if (( __serai_partial_line )); then
    __serai_partial_line=0
    builtin setopt prompt_sp
    __serai_show_partial_line
  fi
  if __serai_is_debugged; then
    __serai_leave
    return
  fi
  __serai_escape "$PWD"
  __serai_mark "P;Cwd=$__serai_escaped"
  __serai_mark A
}

__serai_before_command() {
  local __serai_escaped
  __serai_escape "$1"
  __serai_mark "C;1;$__serai_escaped"
  # Zsh marks a last line without an end before it calls anyone. So that this does not count as the command's
  # output, it is done after the command's end instead; not if the person has a precmd, which would come before.
  if [[ -o prompt_sp && -o prompt_cr && -z ${PROMPT_EOL_MARK+set} ]] && (( ! ${+functions[precmd]} )); then
    builtin unsetopt prompt_sp
    __serai_partial_line=1
  fi
}

__serai_precmd() {
  { local exit_status=$?; builtin unsetopt xtrace local_options warn_nested_var; __serai_before_prompt } >/dev/null 2>&1
}

__serai_preexec() {
  { builtin unsetopt xtrace local_options warn_nested_var; __serai_before_command "$1" } >/dev/null 2>&1
}

# Where commands cannot be told, nothing is touched: what is needed may be read-only, or turned off.
if [[ -n $__serai_nonce && ${(t)precmd_functions-}${(t)preexec_functions-} != *readonly* && -c /dev/tty ]] &&
  builtin printf '' >/dev/tty; then
  typeset -ga precmd_functions preexec_functions
  precmd_functions=(__serai_precmd "${precmd_functions[@]}")
  preexec_functions+=(__serai_preexec)
fi
