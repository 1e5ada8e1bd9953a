// Gives each of several processes a part of a core, by control groups with quotas: so a machine with
// few cores shows how programs grow with the number of cores.

import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '#machinery/clock.ts';
import * as wait from '#machinery/wait.ts';

/** The period of a quota, in µs: short, so that a process that has used its part waits little. */
const PERIOD_US = 20_000;
/** Where version 1 and version 2 of control groups limit processors. */
const V1 = '/sys/fs/cgroup/cpu';
const V2 = '/sys/fs/cgroup';

export class CoreShares {
  readonly #share: number;
  readonly #groups: string[] = [];

  /** Returns why processes cannot be limited here; undefined if they can. */
  static problem(): string | undefined {
    if (process.getuid?.() !== 0) return 'only root makes control groups';
    if (existsSync(join(V1, 'cgroup.procs'))) return undefined;
    const controllers = join(V2, 'cgroup.subtree_control');
    if (existsSync(controllers) && readFileSync(controllers, 'utf8').split(/\s+/).includes('cpu'))
      return undefined;
    return 'there is no control group with the controller cpu';
  }

  /** `share`: the part of a core that each process gets, above 0 and up to 1. */
  constructor(share: number) {
    this.#share = share;
  }

  /** Limits all threads of a process, from now on. */
  limit(pid: number): void {
    const isV1 = existsSync(join(V1, 'cgroup.procs'));
    const group = join(isV1 ? V1 : V2, `coxswain-bench-${process.pid}-${pid}`);
    mkdirSync(group);
    this.#groups.push(group);
    const quota = Math.round(PERIOD_US * this.#share);
    if (isV1) {
      writeFileSync(join(group, 'cpu.cfs_period_us'), String(PERIOD_US));
      writeFileSync(join(group, 'cpu.cfs_quota_us'), String(quota));
    } else {
      writeFileSync(join(group, 'cpu.max'), `${quota} ${PERIOD_US}`);
    }
    writeFileSync(join(group, 'cgroup.procs'), String(pid));
  }

  /** Removes the groups, when their processes have ended. */
  async remove(): Promise<void> {
    for (const group of this.#groups.splice(0)) {
      await wait.pollImmediately(
        { clock: systemClock, intervalMs: 50, timeoutMs: 10_000 },
        async () => readFileSync(join(group, 'cgroup.procs'), 'utf8') === '',
      );
      rmdirSync(group);
    }
  }
}
