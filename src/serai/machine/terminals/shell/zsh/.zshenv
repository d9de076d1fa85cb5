# Zsh was started with ZDOTDIR naming this directory, so that it reads .zshrc here. The person's files are read from
# where they have them, and with their ZDOTDIR; afterwards it is theirs for good.
__serai_directory=$ZDOTDIR
if [[ -n ${SERAI_ZDOTDIR+set} ]]; then
  ZDOTDIR=$SERAI_ZDOTDIR
  builtin unset SERAI_ZDOTDIR
else
  builtin unset ZDOTDIR
fi
if [[ -r ${ZDOTDIR:-$HOME}/.zshenv ]]; then
  builtin source "${ZDOTDIR:-$HOME}/.zshenv"
fi
if [[ -o interactive ]]; then
  typeset -a __serai_zdotdir=(${ZDOTDIR+"$ZDOTDIR"})
  ZDOTDIR=$__serai_directory
fi
