// Logs in to iSCSI targets and finds the devices of their disks; logs out of them. The steps of
// iscsiadm(8), their order and their error texts are upstream's.
//
// A disk with several portals is used by all of them that respond, through the device that multipathd
// makes of their devices.

import type { Clock } from '#machinery/clock.ts';
import * as wait from '#machinery/wait.ts';
import type { IscsiDisk } from './disk.ts';
import type { IscsiSystem } from './system.ts';

export interface AttachConfig {
  readonly system: IscsiSystem;
  readonly clock: Clock;
  /** Names and passwords for CHAP, by iscsiadm's names of the settings. */
  readonly secret: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

const DISCOVERY_KEYS = ['username', 'password', 'username_in', 'password_in'].map(
  (name) => `discovery.sendtargets.auth.${name}`,
);
const SESSION_KEYS = ['username', 'password', 'username_in', 'password_in'].map(
  (name) => `node.session.auth.${name}`,
);
/** The exit code of iscsiadm for an interface that exists. */
const EXISTS = 15;
/** Its exit codes for a session, and for a record, that does not exist. */
const NOTHING_TO_DO: readonly number[] = [0, 2, 21];
const DEVICE_TIMEOUT_S = 30;
/** How long to wait for a multipath device of several portals. */
const MULTIPATH_TIMEOUT_MS = 10_000;
/** Portals that fail are tried so often. */
const MAX_ATTEMPTS = 5;
/** After so many attempts, so many paths are enough. */
const MIN_ATTEMPTS = 2;
const MIN_PATHS = 2;

/** Returns the path of the disk's device. Rejects with the reason why there is none. */
export async function attach(disk: IscsiDisk, config: AttachConfig): Promise<string> {
  const { system } = config;
  const shown = await system.admin(['-m', 'iface', '-I', disk.initialInterface, '-o', 'show']);
  if (shown.code !== 0)
    throw new Error(
      `iscsi: could not read iface ${disk.initialInterface} error: ${shown.output.trim()}`,
    );
  const transport = /^iface\.transport_name = (.*)$/m.exec(shown.output)?.[1];
  if (transport === undefined) throw new Error(`could not parse iface file for ${disk.interface}`);
  if (disk.initiatorName !== undefined)
    await copyInterface(disk, disk.initiatorName, shown.output, system);
  const paths = new Map<string, string>();
  let last: unknown;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    for (const portal of disk.portals) {
      if (paths.has(portal)) continue;
      try {
        paths.set(portal, await deviceAt(portal, transport, disk, config));
      } catch (error) {
        config.signal?.throwIfAborted();
        last = error;
      }
    }
    if (paths.size === 0) break;
    if (paths.size === new Set(disk.portals).size) break;
    if (paths.size >= MIN_PATHS && attempt >= MIN_ATTEMPTS) break;
  }
  const devices = [...paths.values()];
  if (devices[0] !== undefined)
    return (await multipathOf(devices, disk.portals.length > 1, config)) ?? devices[0];
  await removeInterface(disk, system);
  throw new Error(
    `failed to get any path for iscsi disk, last err seen:\n${(last as Error).message}`,
    { cause: last },
  );
}

/** Returns the multipath device of the devices; undefined if there is none. */
async function multipathOf(
  devices: readonly string[],
  isExpected: boolean,
  { system, clock, signal }: AttachConfig,
): Promise<string | undefined> {
  let found: string | undefined;
  const look = async (): Promise<boolean> => {
    for (const device of devices) found ??= await system.mapped(device);
    return found !== undefined;
  };
  if (!isExpected) {
    await look();
    return found;
  }
  try {
    await wait.pollImmediately(
      {
        clock,
        ...(signal !== undefined && { signal }),
        intervalMs: 1000,
        timeoutMs: MULTIPATH_TIMEOUT_MS,
      },
      look,
    );
  } catch (error) {
    // Without multipathd one path is used.
    if (!(error instanceof wait.WaitTimeoutError)) throw error;
  }
  return found;
}

async function deviceAt(
  portal: string,
  transport: string,
  disk: IscsiDisk,
  config: AttachConfig,
): Promise<string> {
  const { system, clock, signal } = config;
  let host = (await system.hosts(disk.iqn)).get(portal);
  if (host === undefined) {
    await logIn(portal, disk, config);
    host = (await system.hosts(disk.iqn)).get(portal);
  }
  if (host === undefined)
    throw new Error(`Could not get SCSI host number for portal ${portal} after logging in`);
  await system.scan(host, disk.lun);
  const address = portal.replaceAll(/[[\]]/g, '');
  const bus = transport === 'tcp' ? 'ip' : 'pci-*-ip';
  const path = `/dev/disk/by-path/${bus}-${address}-iscsi-${disk.iqn}-lun-${disk.lun}`;
  let found: string | undefined;
  try {
    await wait.pollImmediately(
      {
        clock,
        ...(signal !== undefined && { signal }),
        intervalMs: 1000,
        timeoutMs: DEVICE_TIMEOUT_S * 1000,
      },
      async () => (found = await system.find(path)) !== undefined,
    );
  } catch (error) {
    if (!(error instanceof wait.WaitTimeoutError)) throw error;
    throw new Error(`Timed out waiting for device at path ${path} after ${DEVICE_TIMEOUT_S}s`, {
      cause: error,
    });
  }
  return found ?? path;
}

async function logIn(
  portal: string,
  { iqn, interface: name, discoveryChap, sessionChap }: IscsiDisk,
  { system, secret }: AttachConfig,
): Promise<void> {
  const database = ['-m', 'discoverydb', '-t', 'sendtargets', '-p', portal, '-I', name];
  const node = ['-m', 'node', '-p', portal, '-T', iqn, '-I', name];
  const set = async (record: readonly string[], key: string, value: string): Promise<boolean> =>
    (await system.admin([...record, '-o', 'update', '-n', key, '-v', value])).code === 0;
  /** Sets the credentials; their values are in no message. */
  const authenticate = async (
    record: readonly string[],
    method: string,
    keys: readonly string[],
  ): Promise<void> => {
    const settings = keys.flatMap((key) => (secret[key] ? [[key, secret[key]] as const] : []));
    for (const [key, value] of [[method, 'CHAP'] as const, ...settings])
      if (!(await set(record, key, value)))
        throw new Error(`iscsi: failed to update ${record[1]} key "${key}" of portal ${portal}`);
  };
  await system.admin([...database, '-o', 'new']);
  if (discoveryChap)
    await authenticate(database, 'discovery.sendtargets.auth.authmethod', DISCOVERY_KEYS);
  const discovered = await system.admin([...database, '--discover']);
  if (discovered.code !== 0) {
    await system.admin([...database, '-o', 'delete']);
    throw new Error(
      `iscsi: failed to sendtargets to portal ${portal} output: ${discovered.output.trim()}, ` +
        `err exit status ${discovered.code}`,
    );
  }
  // Only the LUN of the volume is looked for; a version without this setting looks for all.
  await set(node, 'node.session.scan', 'manual');
  if (sessionChap) await authenticate(node, 'node.session.auth.authmethod', SESSION_KEYS);
  const login = await system.admin([...node, '--login']);
  if (login.code !== 0) {
    await system.admin([...node, '-o', 'delete']);
    throw new Error(
      `iscsi: failed to attach disk: Error: ${login.output.trim()} (exit status ${login.code})`,
    );
  }
  // A machine that starts must not wait for the target.
  await set(['-m', 'node', '-p', portal, '-T', iqn], 'node.startup', 'manual');
}

/** Makes the interface of a volume: that of the node, with another initiator name. */
async function copyInterface(
  { initialInterface, interface: name }: IscsiDisk,
  initiatorName: string,
  shown: string,
  system: IscsiSystem,
): Promise<void> {
  if (name === initialInterface)
    throw new Error(`iscsi: cannot clone iface with same name: ${initialInterface}`);
  const settings = new Map<string, string>();
  for (const [, key = '', value = ''] of shown.matchAll(/^(iface\.\S+) = (\S+)$/gm))
    if (value !== '<empty>' && key !== 'iface.iscsi_ifacename') settings.set(key, value);
  settings.set('iface.initiatorname', initiatorName);
  const record = ['-m', 'iface', '-I', name];
  const made = await system.admin([...record, '-o', 'new']);
  if (made.code !== 0 && made.code !== EXISTS)
    throw new Error(
      `iscsi: failed to create new iface: ${made.output.trim()} (exit status ${made.code})`,
    );
  for (const [key, value] of [...settings].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const { code, output } = await system.admin([
      ...record,
      '-o',
      'update',
      '-n',
      key,
      '-v',
      value,
    ]);
    if (code === 0) continue;
    await system.admin([...record, '-o', 'delete']);
    throw new Error(
      `iscsi: failed to update iface records: ${output.trim()} (exit status ${code})`,
    );
  }
}

async function removeInterface(disk: IscsiDisk, system: IscsiSystem): Promise<void> {
  if (disk.initiatorName !== undefined)
    await system.admin(['-m', 'iface', '-I', disk.interface, '-o', 'delete']);
}

/**
 * Deletes the devices of a disk, and logs out of its target, at all portals, unless other disks of
 * this machine have it. Rejects if that fails.
 */
export async function detach(
  disk: IscsiDisk,
  system: IscsiSystem,
  isTargetInUse: boolean,
): Promise<void> {
  await system.removeDevices(disk.iqn, disk.lun);
  if (isTargetInUse) return;
  const isLoggedIn = (await system.hosts(disk.iqn)).size > 0;
  try {
    for (const portal of new Set(disk.portals)) {
      const node = ['-m', 'node', '-p', portal, '-T', disk.iqn];
      for (const step of [['--logout'], ['-o', 'delete']]) {
        const { code, output } = await system.admin([...node, ...step, '-I', disk.interface]);
        if (!NOTHING_TO_DO.includes(code))
          throw new Error(`failed to finish detachISCSIDisk, err: ${output.trim()}`);
      }
    }
    await removeInterface(disk, system);
  } catch (error) {
    // Without a session only records can be left. There may be no iscsiadm at all.
    if (isLoggedIn) throw error;
  }
}
