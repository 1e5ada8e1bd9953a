// The pod network's interface to the system: the programs ip, bridge and nft, and the file that the
// container runtime reads.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { execute, SYSTEM_PATH } from '#machinery/execute.ts';
import type { IpFamily } from '#machinery/net/ip.ts';
import { type Nft, systemNft } from '#machinery/net/nft/index.ts';
import { BATCH_ARGUMENT, type Change } from './difference.ts';
import type { Machine, PodNetworkNames } from './model.ts';
import { hasDevice, parseMachine } from './parse.ts';

export interface PodNetworkSystem {
  readonly nft: Nft;
  /** Reads the state of the machine. Rejects if a program is missing or fails. */
  read(names: PodNetworkNames): Promise<Machine>;
  /** Applies the changes in order, and continues after a failure. Rejects with the failures. */
  apply(changes: readonly Change[]): Promise<void>;
  /** Lets the machine forward packets between its links. Idempotent. */
  enableForwarding(families: readonly IpFamily[]): Promise<void>;
  /**
   * Calls `onChange` after changes of links, addresses or routes, until the signal aborts. Rejects
   * if they cannot be watched.
   */
  watch(onChange: () => void, signal: AbortSignal): Promise<void>;
}

/** Interfaces of pods: their changes do not affect the network between machines. */
const POD_LINK = /\bveth/;

/**
 * Returns the interface of a machine.
 *
 * @param prefix a program and arguments that run other programs on the machine, such as `ip netns
 * exec NAME`. Default: none.
 */
export function systemPodNetwork(prefix: readonly string[] = []): PodNetworkSystem {
  const run = async (command: readonly string[], input = ''): Promise<string> => {
    const [program = ''] = command;
    let result;
    try {
      result = await execute([...prefix, ...command], input);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      throw new Error(`the program ${program} is not installed (package iproute2)`, {
        cause: error,
      });
    }
    const { code, stdout, stderr } = result;
    if (code !== 0)
      throw new Error(`${program} failed: ${firstLines(stderr) || `exit code ${code}`}`);
    return stdout;
  };
  return {
    nft: systemNft(prefix),
    async read(names) {
      const [addresses, ...routes] = await Promise.all([
        run(['ip', '-json', '-details', 'address', 'show']),
        ...['-4', '-6'].map((family) =>
          run(['ip', '-json', family, 'route', 'show', 'table', 'main']),
        ),
      ]);
      const dev = ['show', 'dev', names.vxlan];
      const [neighbours = '', forwarding = ''] = hasDevice(addresses, names.vxlan)
        ? await Promise.all([
            run(['ip', '-json', 'neighbour', ...dev]),
            run(['bridge', '-json', 'fdb', ...dev]),
          ])
        : [];
      return parseMachine({ addresses, routes, neighbours, forwarding }, names);
    },
    async apply(changes) {
      const failures: string[] = [];
      for (const { program, lines } of batches(changes)) {
        // -force continues with the next line after a failure.
        await run([program, '-force', '-batch', '-'], `${lines.join('\n')}\n`).catch(
          (error: unknown) => {
            failures.push((error as Error).message);
          },
        );
      }
      if (failures.length > 0) throw new Error(failures.join('; '));
    },
    async enableForwarding(families) {
      if (families.includes('IPv4')) await writeSetting(run, 'net/ipv4/ip_forward', '1');
      if (!families.includes('IPv6')) return;
      // A router ignores router advertisements unless accept_ra is 2: links with a default route
      // from one would lose it.
      const advertised = JSON.parse(
        (await run(['ip', '-json', '-6', 'route', 'show', 'default', 'proto', 'ra'])) || '[]',
      ) as unknown;
      for (const { dev } of advertised as readonly { readonly dev?: string }[]) {
        if (dev !== undefined && BATCH_ARGUMENT.test(dev) && !dev.includes('/'))
          await writeSetting(run, `net/ipv6/conf/${dev}/accept_ra`, '2');
      }
      await writeSetting(run, 'net/ipv6/conf/all/forwarding', '1');
    },
    watch: (onChange, signal) =>
      watch([...prefix, 'ip', '-oneline', 'monitor', 'link', 'address', 'route'], onChange, signal),
  };
}

/** Writes a setting only if it differs: the file may be read-only with the right value. */
async function writeSetting(
  run: (command: readonly string[], input?: string) => Promise<string>,
  name: string,
  value: string,
): Promise<void> {
  const path = `/proc/sys/${name}`;
  if ((await run(['cat', path])).trim() !== value) await run(['tee', path], value);
}

/** Joins neighbouring changes of one program. */
function batches(
  changes: readonly Change[],
): readonly { readonly program: string; readonly lines: string[] }[] {
  const found: { program: string; lines: string[] }[] = [];
  for (const { program, args } of changes) {
    const bad = args.find((argument) => !BATCH_ARGUMENT.test(argument));
    if (bad !== undefined)
      throw new TypeError(`${JSON.stringify(bad)} cannot be an argument of ${program}`);
    const last = found.at(-1);
    if (last?.program === program) last.lines.push(args.join(' '));
    else found.push({ program, lines: [args.join(' ')] });
  }
  return found;
}

const firstLines = (stderr: string): string =>
  stderr
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('Command failed'))
    .slice(0, 3)
    .join('; ');

function watch(
  [program = '', ...args]: readonly string[],
  onChange: () => void,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return resolve();
    const child = spawn(program, args, {
      env: { PATH: SYSTEM_PATH, LC_ALL: 'C' },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const stop = (): void => void child.kill();
    signal.addEventListener('abort', stop, { once: true });
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (!POD_LINK.test(line)) onChange();
    });
    child.on('error', reject);
    child.on('close', (code) => {
      signal.removeEventListener('abort', stop);
      if (signal.aborted) resolve();
      else reject(new Error(`ip monitor ended with exit code ${code ?? -1}`));
    });
  });
}
