// Finds and removes what clusters that were killed have left in the kernel of this machine.

import { execute } from '#machinery/execute.ts';
import { type Nft, type NftTable, removalOf } from '#machinery/net/nft/index.ts';
import { isClusterInterface } from '#machinery/net/service-interface.ts';
import { removePodNetworks } from '#network/index.ts';
import { FIRST_METRIC, ROUTE_PROTOCOL } from '#network/pod-network/names.ts';
import { liveIds } from './live-clusters.ts';

/** `coxswain-ID`, `coxswain-WORD-ID` and `coxswain-ID-WORD`: tables of clusters with a data directory. */
const TABLE = /^coxswain-(?:[a-z]+-)?([0-9a-f]{10})(?:-[a-z]+)?$/;
const INTERFACE_ID = /[0-9a-f]{10}$/;

export interface NamedInterface {
  readonly ifname: string;
  readonly addr_info: readonly { readonly local: string; readonly prefixlen: number }[];
}

export interface StaleState {
  readonly tables: readonly NftTable[];
  readonly interfaces: readonly NamedInterface[];
}

/** Returns what belongs to clusters without a process. Names that no cluster of ours makes are left out. Pure. */
export function staleOf(state: StaleState, isLive: (id: string) => boolean): StaleState {
  return {
    tables: state.tables.filter(({ name }) => {
      const id = TABLE.exec(name)?.[1];
      return id !== undefined && !isLive(id);
    }),
    interfaces: state.interfaces.filter(({ ifname }) => {
      const id = isClusterInterface(ifname) ? INTERFACE_ID.exec(ifname)?.[0] : undefined;
      return id !== undefined && !isLive(id);
    }),
  };
}

/**
 * Removes it, for all clusters without a process. Needs root. Idempotent. Returns what was removed, for people. A
 * cluster that starts meanwhile is safe: what it makes is not in the list, and what it has taken over belongs to a
 * process by then.
 */
export async function removeStaleState(nft: Nft): Promise<readonly string[]> {
  const state = { tables: await nft.tables(), interfaces: await readInterfaces() };
  const live = liveIds();
  const stale = staleOf(state, (id) => live.has(id));
  const removed: string[] = [];
  for (const table of stale.tables) {
    await nft.run(removalOf(table));
    removed.push(`nftables table ${table.family} ${table.name}`);
  }
  for (const route of await readRoutes()) {
    if (!isStaleRoute(route, live)) continue;
    await ip([
      ...route.family,
      'route',
      'delete',
      route.dst,
      'proto',
      String(ROUTE_PROTOCOL),
      'metric',
      String(route.metric),
    ]);
    removed.push(`route to ${route.dst}`);
  }
  for (const entry of stale.interfaces)
    removed.push(...(await removeInterface(entry, state.interfaces)));
  return removed;
}

/**
 * Removes an interface of a cluster, and copies of its IPv6 addresses on others. Returns what was removed, for people.
 */
export async function removeInterface(
  entry: NamedInterface,
  all: readonly NamedInterface[],
): Promise<readonly string[]> {
  const { ifname, addr_info: entries } = entry;
  const removed: string[] = [];
  const addresses = new Set(
    entries
      .map(({ local }) => local)
      .filter((local) => local.includes(':') && !local.startsWith('fe80:')),
  );
  for (const other of all) {
    if (other.ifname === ifname) continue;
    for (const { local, prefixlen } of other.addr_info) {
      if (prefixlen !== 128 || !addresses.has(local)) continue;
      await ip(['address', 'delete', `${local}/128`, 'dev', other.ifname]);
      removed.push(`address ${local} on ${other.ifname}`);
    }
  }
  // A bridge of pods has network namespaces and rules of its pods, too.
  if (ifname.startsWith('cox')) await removePodNetworks({ bridge: ifname, namespaces: [] });
  await ip(['link', 'delete', ifname]);
  const own = entries.map(({ local }) => local).filter((local) => !local.startsWith('fe80:'));
  return [...removed, `interface ${ifname}${own.length === 0 ? '' : ` (${own.join(', ')})`}`];
}

/** Returns all interfaces of this network namespace with their addresses; none without iproute2. */
export async function readInterfaces(): Promise<readonly NamedInterface[]> {
  try {
    const { code, stdout, stderr } = await execute(['ip', '-j', 'address', 'show'], '');
    if (code !== 0) throw new Error(`ip address show failed: ${stderr.trim()}`);
    return JSON.parse(stdout.trim() || '[]') as readonly NamedInterface[];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

interface Route {
  readonly family: readonly string[];
  readonly dst: string;
  readonly metric?: number;
}

/**
 * Matches a cluster's route to pods of another machine: its metric is made of the first six digits
 * of the cluster's id.
 */
export function isStaleRoute(
  { metric = 0 }: Pick<Route, 'metric'>,
  live: ReadonlySet<string>,
): boolean {
  const number = metric - FIRST_METRIC;
  if (number < 0 || number >= 2 ** 24) return false;
  const digits = number.toString(16).padStart(6, '0');
  return ![...live].some((id) => id.startsWith(digits));
}

/** Returns the clusters' routes, of both families. */
async function readRoutes(): Promise<readonly Route[]> {
  const routes: Route[] = [];
  for (const family of [[], ['-6']]) {
    const { code, stdout } = await execute(
      ['ip', ...family, '-j', 'route', 'show', 'proto', String(ROUTE_PROTOCOL)],
      '',
    );
    // A machine without a family has no such routes.
    const list =
      code === 0 ? (JSON.parse(stdout.trim() || '[]') as readonly Omit<Route, 'family'>[]) : [];
    routes.push(...list.map((route) => ({ ...route, family })));
  }
  return routes;
}

async function ip(args: readonly string[]): Promise<void> {
  const { code, stderr } = await execute(['ip', ...args], '');
  if (
    code !== 0 &&
    !/Cannot find device|Cannot assign requested address|does not exist/.test(stderr)
  ) {
    throw new Error(`ip ${args.join(' ')} failed: ${stderr.trim()}`);
  }
}
