# Serai's shell integration for bash 4.4 and later.
#
# Bash reads this file instead of ~/.bashrc, so the person's own files come first, and none of them is changed.
# What follows tells the host, in marks that nobody sees, where commands begin and end:
#
#     ESC ] 633 ; NONCE ; A BEL                  a prompt begins
#     ESC ] 633 ; NONCE ; B BEL                  it ends, and what follows is typed
#     ESC ] 633 ; NONCE ; C ; SURE ; LINE BEL    a command begins; SURE is 0 when LINE may be an earlier one
#     ESC ] 633 ; NONCE ; D ; STATUS BEL         it has ended
#     ESC ] 633 ; NONCE ; P ; Cwd=PATH BEL       where the shell is
#
# The nonce keeps the output of programs from passing for marks. A person may export PS1, so it only has the nonce's
# name. Where commands are shown as they run (set -x), ours are not; `local -` brings that back when a function returns.

__serai_nonce=${SERAI_NONCE-}
__serai_login=${SERAI_SHELL_LOGIN-}
builtin unset SERAI_NONCE SERAI_SHELL_LOGIN

if [[ -n $__serai_login ]]; then
  [[ -r /etc/profile ]] && builtin source /etc/profile
  for __serai_file in ~/.bash_profile ~/.bash_login ~/.profile; do
    if [[ -r $__serai_file ]]; then
      builtin source "$__serai_file"
      break
    fi
  done
  builtin unset __serai_file
elif [[ -r ~/.bashrc ]]; then
  builtin source ~/.bashrc
fi

{
  if [[ $- == *x* ]]; then
    builtin set +x
    __serai_xtrace=1
  fi
  builtin unset __serai_login
} 2>/dev/null

# Where commands cannot be told, nothing is touched: what is needed may be read-only, or turned off.
if [[ -n $__serai_nonce ]] && builtin shopt -q promptvars &&
  ((BASH_VERSINFO[0] > 4 || (BASH_VERSINFO[0] == 4 && BASH_VERSINFO[1] >= 4))) &&
  (PS0='' && PS1='' && PROMPT_COMMAND='' && builtin printf '') 2>/dev/null; then

  __serai_number=
  __serai_status=0
  __serai_prompt_end='\[\e]633;${__serai_nonce-};B\a\]'

  __serai_mark() {
    builtin printf '\e]633;%s;%s\a' "$__serai_nonce" "$1"
  }

  # Sets __serai_escaped: the text with all that could end or divide a mark written as \xHH, and not too long.
  __serai_escape() {
    local text=${1:0:12288} backslash='\'
    text=${text//"$backslash"/"$backslash$backslash"}
    text=${text//';'/"${backslash}x3b"}
    text=${text//$'\n'/"${backslash}x0a"}
    text=${text//$'\r'/"${backslash}x0d"}
    text=${text//$'\a'/"${backslash}x07"}
    text=${text//$'\e'/"${backslash}x1b"}
    text=${text//$'\x18'/"${backslash}x18"}
    text=${text//$'\x1a'/"${backslash}x1a"}
    __serai_escaped=$text
  }

  # Before a command runs, in a subshell: PS0 calls it. If the number in the history has not changed since the
  # prompt, the history did not take this line.
  __serai_executed() {
    local - line sure=1 __serai_escaped
    builtin set +x
    [[ $HISTCMD == "$__serai_number" ]] && sure=0
    line=$(HISTTIMEFORMAT='' builtin history 1)
    [[ $line =~ ^\ *[0-9]+[\ *]\ (.*)$ ]] && line=${BASH_REMATCH[1]}
    __serai_escape "$line"
    __serai_mark "C;$sure;$__serai_escaped"
  }

  # Before each prompt: first, while $? is still the command's, and last, when the person's own code has set PS1. Both
  # leave $? as it was. Who calls them takes care that this is not shown, and that it springs no trap for what fails:
  # what comes before && does not.
  __serai_first() {
    __serai_status=$?
    local -
    builtin set +x
    __serai_mark "D;$__serai_status"
    return "$__serai_status"
  }

  __serai_last() {
    local - __serai_escaped
    builtin set +x
    __serai_number=$HISTCMD
    __serai_escape "$PWD"
    __serai_mark "P;Cwd=$__serai_escaped"
    __serai_mark A
    if [[ ${PS1-} != *"$__serai_prompt_end"* ]]; then
      PS1=${PS1-}$__serai_prompt_end
    fi
    return "$__serai_status"
  }

  if [[ $(builtin declare -p PROMPT_COMMAND 2>/dev/null) == 'declare -a'* ]]; then
    PROMPT_COMMAND=(
      '{ __serai_first && :; } 2>/dev/null'
      "${PROMPT_COMMAND[@]}"
      '{ __serai_last && :; } 2>/dev/null'
    )
  else
    PROMPT_COMMAND=$'{ __serai_first && :; } 2>/dev/null\n'${PROMPT_COMMAND-}$'\n{ __serai_last && :; } 2>/dev/null'
  fi
  PS0='$({ __serai_executed; } 2>/dev/null)'${PS0-}
  builtin export -n PROMPT_COMMAND PS0  # a shell inside has no such functions
fi

if [[ -n ${__serai_xtrace-} ]]; then
  builtin unset __serai_xtrace
  builtin set -x
fi
