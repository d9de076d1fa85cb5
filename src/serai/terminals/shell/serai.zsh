# Serai's shell integration for zsh. The marks are those of serai.bash; `B` is not needed, since zsh itself says
# what was typed. It is read after the person's own .zshrc, in a function and with the options that zsh has by itself.
#
# A person's settings stay as they are, and none of them disturbs this. The functions here turn off that commands are
# shown (xtrace) and that variables are warned of, which zsh restores when they return, and so it does with
# local_options. What they return is not what the person's own functions see as $?.

typeset -g __serai_nonce=${SERAI_NONCE-}
typeset -gi __serai_partial_line=0
builtin unset SERAI_NONCE __serai_directory
builtin unfunction __serai_load

__serai_mark() {
  builtin printf '\e]633;%s;%s\a' "$__serai_nonce" "$1"
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
  builtin print -Pn -- "%B%S%#%s%b${(l:COLUMNS-1:: :):-}\r \r"
}

__serai_precmd() {
  { local exit_status=$? __serai_escaped; builtin unsetopt xtrace local_options warn_nested_var } 2>/dev/null
  __serai_mark "D;$exit_status"
  if (( __serai_partial_line )); then
    __serai_partial_line=0
    builtin setopt prompt_sp
    __serai_show_partial_line
  fi
  __serai_escape "$PWD"
  __serai_mark "P;Cwd=$__serai_escaped"
  __serai_mark A
}

__serai_preexec() {
  { local __serai_escaped; builtin unsetopt xtrace local_options warn_nested_var } 2>/dev/null
  __serai_escape "$1"
  __serai_mark "C;1;$__serai_escaped"
  # Zsh marks a last line without an end before it calls anyone. So that this does not count as the command's
  # output, it is done after the command's end instead; not if the person has a precmd, which would come before.
  if [[ -o prompt_sp && -o prompt_cr && -z ${PROMPT_EOL_MARK+set} ]] && (( ! ${+functions[precmd]} )); then
    builtin unsetopt prompt_sp
    __serai_partial_line=1
  fi
}

# Where commands cannot be told, nothing is touched: what is needed may be read-only, or turned off.
if [[ -n $__serai_nonce && ${(t)precmd_functions-}${(t)preexec_functions-} != *readonly* ]] && builtin printf ''; then
  typeset -ga precmd_functions preexec_functions
  precmd_functions=(__serai_precmd "${precmd_functions[@]}")
  preexec_functions+=(__serai_preexec)
fi
