# Serai's shell integration for bash 4.4 and later.
#
# Bash reads this file instead of ~/.bashrc, so the person's own files come first, and none of them is changed.
# What follows tells the host, in marks that nobody sees, where commands begin and end:
#
#     ESC ] 633 ; NONCE ; A BEL                  a prompt begins
#     ESC ] 633 ; NONCE ; B BEL                  it ends, and what follows is typed
#     ESC ] 633 ; NONCE ; C ; SURE ; LINE BEL    a command begins; SURE is 0 when LINE may be an earlier one
#     ESC ] 633 ; NONCE ; D ; STATUS BEL         it has ended; only the first after a command counts
#     ESC ] 633 ; NONCE ; P ; Cwd=PATH BEL       where the shell is
#
# The nonce keeps the output of programs from passing for marks. A person may export PS1, so it only has the nonce's
# name.
#
# A person may have traps. What runs in a subshell, ( … ), springs no trap for each command (DEBUG); what comes before &&
# springs none for what fails (ERR); and the definition of a function is a command that springs none at all. Where
# functions and subshells inherit traps (set -T), and where commands are shown as they run (set -x), what that prints
# goes nowhere: marks are written to the terminal, all else to /dev/null.
#
# The terminal is /dev/tty, wherever a person has sent what the shell prints: a mark in a file would tell the nonce.

__serai_nonce=${SERAI_NONCE-}
__serai_file=~/.bashrc
if [[ -n ${SERAI_SHELL_LOGIN-} ]]; then
  [[ -r /etc/profile ]] && builtin source /etc/profile
  for __serai_file in ~/.bash_profile ~/.bash_login ~/.profile; do
    [[ -r $__serai_file ]] && break
  done
fi
builtin unset SERAI_NONCE SERAI_SHELL_LOGIN
if [[ -r $__serai_file ]]; then
  builtin source "$__serai_file"
fi

{
  __serai_debug=$(builtin trap -p DEBUG)
  builtin trap - DEBUG
  if [[ $- == *x* ]]; then
    builtin set +x
    __serai_xtrace=1
  fi
  builtin unset __serai_file

  # Where commands cannot be told, nothing is touched: what is needed may be read-only, or turned off.
  if [[ -n $__serai_nonce ]] && builtin shopt -q promptvars &&
    ((BASH_VERSINFO[0] > 4 || (BASH_VERSINFO[0] == 4 && BASH_VERSINFO[1] >= 4))) &&
    (PS0='' && PS1='' && PROMPT_COMMAND='' && [[ -c /dev/tty ]] && builtin printf '' >/dev/tty); then

    __serai_number=
    __serai_prompt_end='\[\e]633;${__serai_nonce-};B\a\]'

    __serai_mark() {
      [[ -c /dev/tty ]] && builtin printf '\e]633;%s;%s\a' "$__serai_nonce" "$1" >/dev/tty
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

    # Whether a part of PROMPT_COMMAND begins with this text. Then it sees the $? of the command, which bash restores
    # before each part; within one, what others have put before us may have changed it.
    __serai_begins() {
      local part
      for part in "${PROMPT_COMMAND[@]}"; do
        [[ $part == "$1"* ]] && return
      done
      return 1
    }

    # These three run in subshells.

    # Before a command runs: PS0 calls it. If the number in the history has not changed since the prompt, the history
    # did not take this line.
    __serai_executed() {
      builtin trap - DEBUG
      builtin set +x
      local line sure=1 __serai_escaped
      [[ $HISTCMD == "$__serai_number" ]] && sure=0
      line=$(HISTTIMEFORMAT='' builtin history 1)
      [[ $line =~ ^\ *[0-9]+[\ *]\ (.*)$ ]] && line=${BASH_REMATCH[1]}
      __serai_escape "$line"
      __serai_mark "C;$sure;$__serai_escaped"
    }

    # Before each prompt, first, while $? is still the command's. It stays that for what follows. If something has come
    # to stand before, the command's end is told last.
    __serai_first() {
      local exit_status=$?
      builtin set +x
      __serai_begins "$__serai_before" && __serai_mark "D;$exit_status"
      return "$exit_status"
    }

    # Before each prompt, last, when the person's own code has set PS1. Returns whether that has lost its mark and may
    # be given it back, which the shell itself has to do: not where that would spring a trap. Without the mark a line
    # that the history did not take is told as the one before it. Bash writes the prompt to 2, which is 3 here: if that
    # is no terminal, the mark has to go instead.
    __serai_last() {
      local exit_status=$? __serai_escaped has='' wants=''
      builtin set +x
      __serai_begins "$__serai_after" || exit_status=
      __serai_mark "D;$exit_status"
      __serai_escape "$PWD"
      __serai_mark "P;Cwd=$__serai_escaped"
      __serai_mark A
      [[ ${PS1-} == *"$__serai_prompt_end"* ]] && has=1
      [[ -t 3 ]] && wants=1
      [[ $has != "$wants" && -z $(builtin trap -p DEBUG) ]]
    }

    # The number in the history is written down where the shell itself is and no command: 0 stays what it is. If 2 is
    # closed, there is nobody to tell.
    __serai_after='{ ( __serai_last ) && if [[ ${PS1-} == *"$__serai_prompt_end"* ]]; then'
    __serai_after+=' PS1=${PS1//"$__serai_prompt_end"}; else PS1=${PS1-}$__serai_prompt_end; fi; }'
    __serai_after+=' 3>&2 >/dev/null 2>&1 <&$((__serai_number = HISTCMD, 0)) || __serai_done() { :; }'
    if ((BASH_VERSINFO[0] > 5 || (BASH_VERSINFO[0] == 5 && BASH_VERSINFO[1] >= 1))); then
      # The person's text stays the first part, so that whoever writes PROMPT_COMMAND=… later replaces it, as without us.
      # Between the parts bash restores PIPESTATUS, but within one any command of ours would change it. What is
      # substituted in a redirection does not, and its status is $? for what is redirected. Whoever takes their own text
      # out leaves something that bash can read. The tab is how this is told from braces of theirs.
      __serai_before=$'{\t\n'
      PROMPT_COMMAND[0]=$__serai_before${PROMPT_COMMAND-}$'\n__serai_done() { :; }\n} '
      PROMPT_COMMAND[0]+='<&"0$({ __serai_first; } >/dev/null 2>&1)"'
      PROMPT_COMMAND+=("$__serai_after")
    else
      # There is only one part. What comes to stand before us hides how commands end: that is not told, then.
      __serai_before='{ ( __serai_first ) && __serai_done() { :; }; } >/dev/null 2>&1'
      PROMPT_COMMAND=$__serai_before$'\n'${PROMPT_COMMAND-}$'\n'$__serai_after
    fi
    PS0='$({ __serai_executed; } >/dev/null 2>&1)'${PS0-}
    PS1=${PS1-}$__serai_prompt_end
    builtin export -n PROMPT_COMMAND PS0  # a shell inside has no such functions
  fi

  if [[ -n ${__serai_xtrace-} ]]; then
    builtin unset __serai_xtrace
    builtin set -x
  fi
  builtin eval "builtin unset __serai_debug; $__serai_debug"
} >/dev/null 2>&1
