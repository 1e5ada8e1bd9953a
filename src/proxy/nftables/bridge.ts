// Traffic between pods on one bridge. If a pod reaches another one through a service, the replies
// pass only the bridge, unless the bridge passes its traffic to netfilter: the replies would keep
// the other pod's address, and the first pod would drop them.

import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import { handBridgedTraffic } from '#machinery/net/bridge.ts';

/**
 * Creates the bridge if needed, and makes it pass its traffic to netfilter. Returns false if the
 * kernel does not support that (it lacks br_netfilter): traffic between its pods through services
 * must then be masqueraded.
 */
export async function seesBridgedTraffic(bridge: string, logger: Logger): Promise<boolean> {
  let reason = 'the kernel has no br_netfilter';
  try {
    if (await handBridgedTraffic(bridge)) return true;
  } catch (error) {
    reason = errorMessage(error);
  }
  logger.warn(
    'proxy: pods see the node as the source of connections through services from pods of the same node',
    {
      bridge,
      reason,
    },
  );
  return false;
}
