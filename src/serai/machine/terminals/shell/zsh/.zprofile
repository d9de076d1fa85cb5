if [[ -r ${__serai_zdotdir:-$HOME}/.zprofile ]]; then
  if (( $#__serai_zdotdir )); then ZDOTDIR=$__serai_zdotdir; else builtin unset ZDOTDIR; fi
  builtin source "${ZDOTDIR:-$HOME}/.zprofile"
  __serai_zdotdir=(${ZDOTDIR+"$ZDOTDIR"})
  ZDOTDIR=$__serai_directory
fi
