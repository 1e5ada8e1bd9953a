// Pods of a node are on one bridge. A pod that reaches another through a service gets answers that
// only the bridge sees, unless the bridge hands what it forwards to netfilter: the answers would
// keep the other pod's address, and the first pod would drop them.

import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import { handBridgedTraffic } from '#machinery/net/bridge.ts';

/**
 * Makes the bridge, if it is not there yet, and has it hand its traffic to netfilter. Returns false
 * if the kernel cannot do that (it lacks br_netfilter): then traffic between its pods through
 * services has to be masqueraded.
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
