// Reads the contents of files of procfs. Pure.

export interface InterfaceCounters {
  readonly name: string;
  readonly rxBytes: number;
  readonly rxPackets: number;
  readonly rxErrors: number;
  readonly rxDropped: number;
  readonly txBytes: number;
  readonly txPackets: number;
  readonly txErrors: number;
  readonly txDropped: number;
}

/** Interfaces that cAdvisor ignores: the loopback, and those of other network namespaces. */
const IGNORED = /^(?:lo$|veth|docker|nerdctl)/;

/** Returns the interfaces in /proc/net/dev. */
export function netDevices(text: string): readonly InterfaceCounters[] {
  return text.split('\n').flatMap((line) => {
    const [, name = '', rest = ''] = /^ *([^:\s]+): *(.*)$/.exec(line) ?? [];
    const values = rest.trim().split(/ +/).map(Number);
    if (name === '' || IGNORED.test(name) || values.length < 12 || values.some(Number.isNaN))
      return [];
    // Bytes, packets, errors and drops come first, of 8 columns received and 8 sent.
    const [rxBytes = 0, rxPackets = 0, rxErrors = 0, rxDropped = 0] = values;
    const [txBytes = 0, txPackets = 0, txErrors = 0, txDropped = 0] = values.slice(8);
    return [
      { name, rxBytes, rxPackets, rxErrors, rxDropped, txBytes, txPackets, txErrors, txDropped },
    ];
  });
}

/** Returns the most tasks that there may be, from pid_max and threads-max. */
export function maxTasks(...limits: readonly (string | undefined)[]): number | undefined {
  const numbers = limits.flatMap((text) => (/^\d+\s*$/.test(text ?? '') ? [Number(text)] : []));
  return numbers.length === 0 ? undefined : Math.min(...numbers);
}

/** Returns the number of tasks in /proc/loadavg: '0.10 0.20 0.30 RUNNING/ALL LAST_PID'. */
export function runningTasks(text: string | undefined): number | undefined {
  const all = /^\S+ \S+ \S+ \d+\/(\d+) /.exec(text ?? '')?.[1];
  return all === undefined ? undefined : Number(all);
}
