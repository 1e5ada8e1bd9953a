// A bridge of the kernel whose traffic passes netfilter. Traffic between two ports of a bridge is not routed: without this, rules for what
// is forwarded do not see it.

import { existsSync } from 'node:fs';
import { execute } from '../execute.ts';

/** Where br_netfilter has its settings, in every network namespace. */
const SETTINGS = '/proc/sys/net/bridge';
const PASSES_NETFILTER = ['nf_call_iptables', '1', 'nf_call_ip6tables', '1'];

/**
 * Makes the bridge, if it is not there yet, and has it hand its traffic to netfilter. Returns false if the kernel cannot do that (it lacks
 * br_netfilter), or without the program ip.
 */
export async function handBridgedTraffic(bridge: string): Promise<boolean> {
  try {
    // The kernel takes the settings of a bridge also while the module that follows them is not loaded.
    if (!existsSync(SETTINGS))
      await execute(['modprobe', 'br_netfilter'], '').catch(() => undefined);
    if (!existsSync(SETTINGS)) return false;
    // A CNI plugin uses a bridge that is there. One that is there already makes this fail, which is as good.
    await execute(['ip', 'link', 'add', bridge, 'type', 'bridge'], '');
    return (
      (await execute(['ip', 'link', 'set', bridge, 'type', 'bridge', ...PASSES_NETFILTER], ''))
        .code === 0
    );
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
