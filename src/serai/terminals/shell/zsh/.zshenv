# Zsh was started with ZDOTDIR naming this directory. From here on it is what the person has: zsh reads their
# .zprofile, .zshrc and .zlogin by itself.
__serai_directory=$ZDOTDIR
if [[ -n ${SERAI_ZDOTDIR+set} ]]; then
  export ZDOTDIR=$SERAI_ZDOTDIR
  builtin unset SERAI_ZDOTDIR
else
  builtin unset ZDOTDIR
fi
if [[ -o interactive ]]; then
  builtin source "${__serai_directory:h}/serai.zsh"
fi
builtin unset __serai_directory
if [[ -r ${ZDOTDIR:-$HOME}/.zshenv ]]; then
  builtin source "${ZDOTDIR:-$HOME}/.zshenv"
fi
