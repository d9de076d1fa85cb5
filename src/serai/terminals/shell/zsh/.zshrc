if (( $#__serai_zdotdir )); then ZDOTDIR=$__serai_zdotdir; else builtin unset ZDOTDIR; fi
builtin unset __serai_zdotdir
# A system's own /etc/zshrc may have put the history where it thought that the person's files are.
if [[ ${HISTFILE-} == $__serai_directory/* ]]; then
  HISTFILE=${ZDOTDIR:-$HOME}/${HISTFILE:t}
fi
if [[ -r ${ZDOTDIR:-$HOME}/.zshrc ]]; then
  builtin source "${ZDOTDIR:-$HOME}/.zshrc"
fi
builtin source "${__serai_directory:h}/serai.zsh"
