// The services of a machine: programs that are started again when they end, and that systemctl(1)
// starts and stops, as on a machine with systemd. Tests kill the kubelet, or stop it, and expect that.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram } from '#cluster/machine/install.ts';

/**
 * Runs the service `$1` until it ends, or, once there is a file NAME.kept, until this shell gets a
 * signal. `$0`: the directory of the services' files. NAME.pid: the running process; NAME.stopped: it
 * is not started again.
 */
const KEEP = `trap ended=1 TERM INT
run=$0/$1
shift
while :; do
  "$@" &
  main=$!
  echo $main >"$run.pid"
  while kill -0 $main 2>/dev/null; do wait $main; status=$?; done
  rm "$run.pid"
  [ -z "$ended" ] && [ -e "$run.kept" ] || exit $status
  sleep 1
  while [ -e "$run.stopped" ] && [ -z "$ended" ]; do sleep 0.1; done
  [ -z "$ended" ] || exit 0
done`;

/** The part of systemctl(1) that tests use. Others are refused. */
const systemctl = (dir: string): string => `#!/bin/sh
run=${dir}/\${2%.service}
[ -e "$run.kept" ] || { echo "Unit $2 not loaded." >&2; exit 4; }
state() { if [ -e "$run.pid" ]; then echo active; else echo inactive; fi; }
stop() {
  touch "$run.stopped"
  main=$(cat "$run.pid" 2>/dev/null) || return 0
  kill "$main"
  while [ -e "$run.pid" ]; do sleep 0.1; done
}
start() {
  rm -f "$run.stopped"
  while ! [ -e "$run.pid" ]; do sleep 0.1; done
}
case "$1 $3 $4 $5" in
  'start   ') start ;;
  'stop   ') stop ;;
  'restart   ') stop; start ;;
  'is-active   ') state; [ -e "$run.pid" ] ;;
  'show --property ActiveState --value') state ;;
  *) echo "systemctl $*: there is no such command here" >&2; exit 1 ;;
esac
`;

export interface Services {
  /** See MachineFiles. */
  readonly binds: readonly (readonly [string, string])[];
  /** Returns the command that runs a service under this name. */
  kept(name: string, command: readonly string[]): readonly string[];
  /**
   * From now on the services are started again when they end. `write` makes an empty file on the
   * machine. Default: it is a file of this machine.
   */
  keep(write?: (file: string) => void): void;
}

/** Makes the files of a machine's services in `dir`, which the machine has at the same path. */
export function makeServices(dir: string): Services {
  mkdirSync(dir, { recursive: true });
  const program = join(dir, 'systemctl');
  writeFileSync(program, systemctl(dir), { mode: 0o755 });
  const replaced = findProgram('systemctl');
  const names: string[] = [];
  return {
    binds: replaced === undefined ? [] : [[program, replaced]],
    kept(name, command) {
      names.push(name);
      return ['sh', '-c', KEEP, dir, name, ...command];
    },
    keep(write = (file) => writeFileSync(file, '')) {
      for (const name of names) write(join(dir, `${name}.kept`));
    },
  };
}
