// The chain KUBE-IPTABLES-HINT, which every kubelet makes: programs in pods, such as the agents of
// other networks, see by it whether this machine uses iptables-nft or iptables-legacy, and use the same
// (KEP-3178). Upstream's kubelet also makes KUBE-FIREWALL, against packets that its proxy's setting
// route_localnet lets in; this proxy does not set it.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';

const CHAIN = 'KUBE-IPTABLES-HINT';
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const PROGRAMS = ['iptables', 'ip6tables'] as const;
/** How often upstream looks whether its chains are still there. */
const CHECK_MS = 60_000;

/** Runs a program; rejects with its output on standard error. */
export type RunProgram = (program: string, args: readonly string[]) => Promise<unknown>;

const runProgram: RunProgram = (program, args) =>
  promisify(execFile)(program, args, { env: { PATH: SYSTEM_PATH } });

export interface IptablesHintConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Default: programs of this machine. */
  readonly run?: RunProgram;
}

/**
 * Makes the chain for each family, and again within a minute if it was deleted, until the signal is
 * aborted. The chain stays: see removeIptablesHint. A family without iptables has none.
 */
export async function keepIptablesHint(
  { clock, logger, run = runProgram }: IptablesHintConfig,
  signal: AbortSignal,
): Promise<void> {
  let programs: readonly string[] = PROGRAMS;
  while (!signal.aborted) {
    const working: string[] = [];
    for (const program of programs) {
      try {
        await ensureChain(run, program);
        working.push(program);
      } catch (error) {
        logger.info(`no ${CHAIN} of ${program}`, { reason: errorMessage(error) });
      }
    }
    programs = working;
    await clock.sleep(CHECK_MS, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }
}

/** Removes the chain. Another kubelet of this machine makes it again within a minute. Idempotent. */
export async function removeIptablesHint(run: RunProgram = runProgram): Promise<void> {
  for (const program of PROGRAMS) {
    try {
      await run(program, ['-w', '5', '-t', 'mangle', '-X', CHAIN]);
    } catch (error) {
      // Without iptables, or with a kernel that has no such table, there is no chain.
      if (!/ENOENT|No chain|does not exist|can't initialize/i.test(errorMessage(error)))
        throw error;
    }
  }
}

async function ensureChain(run: RunProgram, program: string): Promise<void> {
  try {
    await run(program, ['-w', '5', '-t', 'mangle', '-N', CHAIN]);
  } catch (error) {
    if (!/Chain already exists/.test(errorMessage(error))) throw error;
  }
}
