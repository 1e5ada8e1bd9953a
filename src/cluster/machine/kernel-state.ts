// Removes what one cluster has in the kernel of this machine. All who need a clean machine call this one function: `cox
// reset`, and `cox down --clean`. What is known by its name (tables and interfaces with the cluster's ids) is found by
// its name, so a component that names its own in this way need not be added here.

import { NftError, removalOf, systemNft } from '#machinery/net/nft/index.ts';
import {
  bridgeName,
  cleanPodNetwork,
  removeBridgeNetwork,
  removeIptablesHint,
  removePodNetworks,
} from '#network/index.ts';
import { dataDirLayout } from '../data-dir/data-dir.ts';
import { idsOf } from './live-clusters.ts';
import {
  type NamedInterface,
  readInterfaces,
  removeInterface,
  removeStaleState,
  type StaleState,
  staleOf,
} from './stale-state.ts';

/**
 * Removes networks of pods, tables of nftables, and interfaces with their addresses. No process of the cluster may run.
 * Needs Linux and root. Idempotent. Returns what was removed, for people.
 *
 * @param directories the data directory, by every name that it was given
 * @param namespaces network namespaces of pods that are known from elsewhere
 */
export async function removeKernelState(
  directories: readonly string[],
  namespaces: ReadonlySet<string>,
): Promise<readonly string[]> {
  const before = await ownState(directories);
  for (const directory of directories) {
    const { containerd } = dataDirLayout(directory);
    const bridge = bridgeName(containerd);
    await removePodNetworks({ bridge, namespaces });
    await cleanPodNetwork(containerd);
    await removeBridgeNetwork({ bridge, dataDir: containerd });
  }
  await removeIptablesHint();
  const nft = systemNft();
  for (const table of before.tables) await nft.run(removalOf(table));
  const all = await readInterfaces();
  for (const entry of (await ownState(directories)).interfaces) await removeInterface(entry, all);
  return [
    ...before.tables.map(({ family, name }) => `nftables table ${family} ${name}`),
    ...before.interfaces.map(describe),
  ];
}

/**
 * Removes what clusters without any process have left. Without nft there are no tables, and nothing of theirs is looked
 * for.
 */
export async function removeLeftStale(): Promise<readonly string[]> {
  try {
    return await removeStaleState(systemNft());
  } catch (error) {
    if (
      error instanceof NftError &&
      (error.reason === 'NotInstalled' || error.reason === 'NotPermitted')
    )
      return [];
    throw error;
  }
}

async function ownState(directories: readonly string[]): Promise<StaleState> {
  const ids = new Set(directories.flatMap(idsOf));
  return staleOf(
    { tables: await tables(), interfaces: await readInterfaces() },
    (id) => !ids.has(id),
  );
}

async function tables(): Promise<StaleState['tables']> {
  try {
    return await systemNft().tables();
  } catch (error) {
    // Without nft, or the right to use it, there are no tables of ours.
    if (
      error instanceof NftError &&
      (error.reason === 'NotInstalled' || error.reason === 'NotPermitted')
    )
      return [];
    throw error;
  }
}

function describe({ ifname, addr_info: entries }: NamedInterface): string {
  const addresses = entries.map(({ local }) => local).filter((local) => !local.startsWith('fe80:'));
  const kind = ifname.startsWith('cox') ? 'bridge' : 'interface';
  return `${kind} ${ifname}${addresses.length === 0 ? '' : ` (${addresses.join(', ')})`}`;
}
