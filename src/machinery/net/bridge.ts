// A bridge of the kernel whose traffic passes netfilter. Traffic between two ports of a bridge is
// not routed: by default, the rules of the forward hook do not apply to it.

import { existsSync } from 'node:fs';
import { execute } from '../execute.ts';

/** The directory of br_netfilter's settings in each network namespace. */
const SETTINGS = '/proc/sys/net/bridge';
const PASSES_NETFILTER = ['nf_call_iptables', '1', 'nf_call_ip6tables', '1'];

/**
 * Creates the bridge, if it does not exist, and lets its traffic pass netfilter. Returns false if
 * the kernel lacks br_netfilter, or without the program ip.
 */
export async function handBridgedTraffic(bridge: string): Promise<boolean> {
  try {
    // The kernel accepts the bridge's settings even while br_netfilter is not loaded.
    if (!existsSync(SETTINGS))
      await execute(['modprobe', 'br_netfilter'], '').catch(() => undefined);
    if (!existsSync(SETTINGS)) return false;
    // Fails if the bridge exists already, which is fine. A CNI plugin uses an existing bridge.
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
