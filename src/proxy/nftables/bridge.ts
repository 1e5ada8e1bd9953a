// Pods of a node are on one bridge. A pod that reaches another through a service gets answers that only the bridge sees, unless the bridge
// hands what it forwards to netfilter: the answers would keep the other pod's address, and the first pod would drop them.

import { writeFile } from 'node:fs/promises';
import type { Logger } from '#machinery/log.ts';
import { execute } from '#machinery/execute.ts';

const SETTINGS = ['nf_call_iptables', 'nf_call_ip6tables'];

/**
 * Makes the bridge, if it is not there yet, and has it hand its traffic to netfilter. Returns false if the kernel cannot do that (it lacks
 * br_netfilter): then traffic between its pods through services has to be masqueraded.
 */
export async function seesBridgedTraffic(bridge: string, logger: Logger): Promise<boolean> {
  try {
    // The CNI plugin uses a bridge that is there. One that is there already makes this fail, which is as good.
    await execute(['ip', 'link', 'add', bridge, 'type', 'bridge'], '');
    for (const setting of SETTINGS) await writeFile(`/sys/class/net/${bridge}/bridge/${setting}`, '1');
    return true;
  } catch (err) {
    logger.warn('proxy: pods see the node as the source of connections through services from pods of the same node', {
      bridge,
      reason: 'the kernel has no br_netfilter',
      err,
    });
    return false;
  }
}
