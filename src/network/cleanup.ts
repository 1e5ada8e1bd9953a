// Removes the network of a deleted cluster from the host.

import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { namesIn } from '#machinery/files/names-in.ts';

const run = promisify(execFile);
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/**
 * The directory in which container runtimes keep the results of CNI plugins:
 * NETWORK-CONTAINER-INTERFACE.
 */
const CNI_RESULTS = '/var/lib/cni/results';
const NETWORK_NAMESPACES = '/run/netns';
/** Chains that the plugins `bridge` (masquerading) and `portmap` create for one pod. */
const POD_CHAIN = /^CNI-(?:DN-|SN-)?[0-9a-f]{20,}$/;

/**
 * Deletes the bridge and the records of addresses. To be called when no pod is left. Idempotent;
 * rejects if the bridge remains.
 */
export async function removeBridgeNetwork(config: {
  readonly bridge: string;
  readonly dataDir: string;
}): Promise<void> {
  await rm(join(config.dataDir, 'ipam'), { recursive: true, force: true });
  // Without iproute2 there is no bridge of ours: the plugin's bridge then stays until the next
  // boot.
  await unlessAbsent(
    run('ip', ['link', 'delete', config.bridge, 'type', 'bridge'], { env: { PATH: SYSTEM_PATH } }),
  );
}

/**
 * Removes the networks of pods whose processes have ended without a call of the plugins: network
 * namespaces with their interfaces, iptables rules, and the results that the runtime kept. Networks
 * of other bridges stay. Idempotent.
 *
 * @param config.namespaces network namespaces to remove in addition to those in the results
 */
export async function removePodNetworks(config: {
  readonly bridge: string;
  readonly namespaces: Iterable<string>;
}): Promise<void> {
  const { bridge } = config;
  const namespaces = new Set(config.namespaces);
  const results = (await namesIn(CNI_RESULTS))
    .filter((name) => name.startsWith(`${bridge}-`))
    .map((name) => join(CNI_RESULTS, name));
  for (const result of results) {
    const text = await readFile(result, 'utf8');
    for (const [, name] of text.matchAll(/\/run\/netns\/(cni-[0-9a-f-]{36})/g))
      namespaces.add(name as string);
  }
  const present = new Set(await namesIn(NETWORK_NAMESPACES));
  for (const name of namespaces) {
    if (present.has(name))
      await unlessAbsent(run('ip', ['netns', 'delete', name], { env: { PATH: SYSTEM_PATH } }));
  }
  for (const family of ['iptables', 'ip6tables']) await removeRules(family, bridge);
  for (const result of results) await rm(result, { force: true });
}

async function removeRules(family: string, bridge: string): Promise<void> {
  let saved: string;
  try {
    saved = (
      await run(`${family}-save`, ['-t', 'nat'], { env: { PATH: SYSTEM_PATH }, maxBuffer: 1 << 28 })
    ).stdout;
  } catch (error) {
    // iptables is not installed, or the kernel has no such table: there are no rules.
    if (
      (error as NodeJS.ErrnoException).code === 'ENOENT' ||
      /table|protocol/i.test(String((error as { stderr?: string }).stderr))
    )
      return;
    throw error;
  }
  const removal = ruleRemoval(saved, bridge);
  if (removal === undefined) return;
  const restoring = run(`${family}-restore`, ['--noflush', '--wait', '10'], {
    env: { PATH: SYSTEM_PATH },
  });
  restoring.child.stdin?.end(removal);
  await restoring;
}

/**
 * Returns input for iptables-restore --noflush that removes a network's rules; undefined if there
 * are none. The plugins write the network's name into each rule's comment: `name: "NETWORK" id:
 * "CONTAINER"`.
 *
 * @param saved the output of iptables-save for the table nat
 */
export function ruleRemoval(saved: string, network: string): string | undefined {
  const chains = new Set<string>();
  const rules: string[] = [];
  for (const line of saved.split('\n')) {
    if (!line.startsWith('-A ') || !line.includes(`name: \\"${network}\\"`)) continue;
    const chain = line.split(' ')[1]!;
    const target = / -j (\S+)/.exec(line)?.[1] ?? '';
    if (POD_CHAIN.test(chain)) chains.add(chain);
    else rules.push(line.replace('-A ', '-D '));
    if (POD_CHAIN.test(target)) chains.add(target);
  }
  if (rules.length === 0 && chains.size === 0) return undefined;
  const flushed = [...chains].map((chain) => `-F ${chain}`);
  const removed = [...chains].map((chain) => `-X ${chain}`);
  return `${['*nat', ...rules, ...flushed, ...removed, 'COMMIT'].join('\n')}\n`;
}

/**
 * Waits for a program that removes something. A missing object or a missing program is not an
 * error.
 */
async function unlessAbsent(running: Promise<unknown>): Promise<void> {
  try {
    await running;
  } catch (error) {
    const { stderr = '', code } = error as { stderr?: string; code?: unknown };
    if (code !== 'ENOENT' && !/Cannot find device|does not exist|No such file/i.test(stderr))
      throw error;
  }
}
