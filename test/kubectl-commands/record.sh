# Takes the place of upstream's JUnit recorder: test-cmd.sh sources this file and calls juLog for each test function.
#
# juLog runs the function in a subshell, keeps its output in RESULTS_DIR/NAME.log and appends one line to RESULTS_DIR/results.tsv:
# NAME <tab> passed|failed|skipped <tab> SECONDS. FUNCTIONS, if set, is a regular expression: functions that it does not match are skipped.

juLog() {
  local name=
  while [[ $1 == -* ]]; do
    [[ $1 == -name=* ]] && name=${1#-name=}
    shift
  done
  # The script checks first that a failing function is noticed. That check is not a result.
  if [[ ${name} == record_command_canary ]]; then
    (eval "$*") >/dev/null 2>&1
    return
  fi
  if [[ -n ${FUNCTIONS:-} && ! ${name} =~ ${FUNCTIONS} ]]; then
    printf '%s\tskipped\t0\n' "${name}" >>"${RESULTS_DIR}/results.tsv"
    return 0
  fi
  local started=${SECONDS} outcome=passed status
  (eval "$*") >"${RESULTS_DIR}/${name}.log" 2>&1
  status=$?
  ((status == 0)) || outcome=failed
  printf '%s\t%s\t%s\n' "${name}" "${outcome}" "$((SECONDS - started))" >>"${RESULTS_DIR}/results.tsv"
  return "${status}"
}
