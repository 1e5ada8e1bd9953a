// Removes the pod network of a cluster from this machine.

import { errorMessage } from '#machinery/error-message.ts';
import { NftError } from '#machinery/net/nft/index.ts';
import { difference } from './difference.ts';
import { EMPTY_STATE } from './model.ts';
import { podNetworkNames } from './names.ts';
import { removalCommands } from './rules.ts';
import { type PodNetworkSystem, systemPodNetwork } from './system.ts';

/**
 * Removes routes, the VXLAN device and rules; removeBridgeNetwork removes the bridge and its
 * addresses. Idempotent. Rejects with the failures. Needs root.
 *
 * @param dataDir the directory that was passed to podNetworkNames
 */
export async function cleanPodNetwork(
  dataDir: string,
  system: PodNetworkSystem = systemPodNetwork(),
): Promise<void> {
  const names = podNetworkNames(dataDir);
  const failures: string[] = [];
  try {
    const { own } = await system.read(names);
    await system.apply(difference(own, EMPTY_STATE, names));
  } catch (error) {
    // Without iproute2 there are no routes of ours.
    if (((error as Error).cause as NodeJS.ErrnoException | undefined)?.code !== 'ENOENT')
      failures.push(errorMessage(error));
  }
  try {
    await system.nft.run(removalCommands(names.table));
  } catch (error) {
    if (!(error instanceof NftError) || error.reason !== 'NotInstalled')
      failures.push(errorMessage(error));
  }
  if (failures.length > 0)
    throw new Error(`the pod network could not be removed: ${failures.join('; ')}`);
}
