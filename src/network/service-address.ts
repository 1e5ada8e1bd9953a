// Adds the address of a service to this machine, on a dedicated interface. Pods of this machine
// then reach a server that listens there by routing alone, with or without a service proxy. The
// interface is a bridge without ports: kernels with bridges for pods may lack dummy interfaces.

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { networkInterfaces } from 'node:os';
import { promisify } from 'node:util';
import { serviceInterface } from '#machinery/net/service-interface.ts';

const run = promisify(execFile);
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * Returns the name of the interface for the cluster of a data directory: stable for a directory,
 * different for others.
 */
export function serviceInterfaceName(dataDir: string): string {
  return serviceInterface(createHash('sha256').update(dataDir).digest('hex').slice(0, 10));
}

/** Returns the interface, other than `name`, that has the address already. */
export function otherInterfaceWith(address: string, name: string): string | undefined {
  const entries = Object.entries(networkInterfaces());
  return entries.find(
    ([other, list]) => other !== name && list?.some((each) => each.address === address),
  )?.[0];
}

/** Adds the address. Needs root. Idempotent. Rejects if the interface cannot be created. */
export async function addServiceAddress(name: string, address: string): Promise<void> {
  if (networkInterfaces()[name]?.some((each) => each.address === address)) return;
  const isV6 = address.includes(':');
  await ip(['link', 'add', name, 'type', 'bridge'], /File exists/);
  // The address is unique: without duplicate address detection it is usable at once.
  await ip([
    'address',
    'replace',
    `${address}/${isV6 ? 128 : 32}`,
    'dev',
    name,
    ...(isV6 ? ['nodad'] : []),
  ]);
  await ip(['link', 'set', name, 'up']);
}

/** Removes the interface. Idempotent. */
export async function removeServiceAddress(name: string): Promise<void> {
  await ip(['link', 'delete', name, 'type', 'bridge'], /Cannot find device|does not exist/);
}

/**
 * Runs `ip`. `fine`: the error output of an acceptable failure. Without the program there is no
 * such interface.
 */
async function ip(args: readonly string[], fine?: RegExp): Promise<void> {
  try {
    await run('ip', [...args], { env: { PATH: SYSTEM_PATH } });
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string };
    if (fine?.test(stderr) !== true)
      throw new Error(`ip ${args.join(' ')}: ${stderr.trim() || (error as Error).message}`, {
        cause: error,
      });
  }
}
