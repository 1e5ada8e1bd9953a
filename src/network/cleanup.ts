// Takes the network of a cluster that is gone for good off the host.

import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Removes the bridge and forgets all addresses. Call it when no pod is left. Idempotent; rejects if the bridge stays. */
export async function removeBridgeNetwork(config: { readonly bridge: string; readonly dataDir: string }): Promise<void> {
  await rm(join(config.dataDir, 'ipam'), { recursive: true, force: true });
  try {
    await run('ip', ['link', 'delete', config.bridge, 'type', 'bridge'], { env: { PATH: SYSTEM_PATH } });
  } catch (err) {
    const { stderr = '', code } = err as { stderr?: string; code?: unknown };
    // Without iproute2 there is no bridge of ours either: the plugin's own way to make it leaves it for the next boot.
    if (code !== 'ENOENT' && !/Cannot find device|does not exist/i.test(stderr)) throw err;
  }
}
