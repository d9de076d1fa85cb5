"""The tools of model sessions; `registry` names them all."""
