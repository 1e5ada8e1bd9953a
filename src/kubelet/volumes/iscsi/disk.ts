// A disk of an iSCSI target, as a pod or a persistent volume names it.

import type * as v1 from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';

export interface IscsiDisk {
  /** The name of the pod's volume, or of the persistent volume. */
  readonly volumeName: string;
  /** 'HOST:PORT' of the target, the first one first. */
  readonly portals: readonly string[];
  readonly iqn: string;
  readonly lun: number;
  /** The interface of iscsiadm(8) that the node has. */
  readonly initialInterface: string;
  /** The interface of the sessions: a copy, if the volume has an initiator name of its own. */
  readonly interface: string;
  readonly initiatorName: string | undefined;
  readonly discoveryChap: boolean;
  readonly sessionChap: boolean;
}

type Source = Immutable<v1.ISCSIVolumeSource> | Immutable<v1.ISCSIPersistentVolumeSource>;

const DEFAULT_PORT = 3260;
/** Values become arguments of programs and names of directories: neither an option nor a path. */
const SAFE = /^[A-Za-z0-9[][A-Za-z0-9_.:[\]-]*$/;

/** Returns the disk. Throws for values that cannot be a part of a path. */
export function diskOf(volumeName: string, source: Source): IscsiDisk {
  const portals = [source.targetPortal, ...(source.portals ?? [])].map((portal) =>
    portal.includes(':') ? portal : `${portal}:${DEFAULT_PORT}`,
  );
  const initialInterface = source.iscsiInterface ?? 'default';
  const { iqn, lun, initiatorName } = source;
  for (const value of [...portals, iqn, initialInterface, initiatorName ?? 'none'])
    if (!SAFE.test(value)) throw new Error(`iscsi: invalid value ${JSON.stringify(value)}`);
  return {
    volumeName,
    portals,
    iqn,
    lun,
    initialInterface,
    interface: initiatorName === undefined ? initialInterface : `${portals[0]}:${volumeName}`,
    initiatorName,
    discoveryChap: source.chapAuthDiscovery === true,
    sessionChap: source.chapAuthSession === true,
  };
}

/** Returns the directory of a disk below that of the plugin, as upstream names it. */
export function directoryOf({ interface: name, portals, iqn, lun }: IscsiDisk): string {
  return `iface-${name}/${portals[0]}-${iqn}-lun-${lun}`;
}

/** The content of iscsi.json, which upstream's kubelet can read, too. */
export function recordOf(disk: IscsiDisk): object {
  const { volumeName, portals, iqn, lun, initialInterface, initiatorName = '' } = disk;
  return {
    VolName: volumeName,
    Portals: portals,
    Iqn: iqn,
    Lun: String(lun),
    InitIface: initialInterface,
    Iface: disk.interface,
    InitiatorName: initiatorName,
    MetricsProvider: null,
  };
}

/** Returns the disk of a record. Throws Error for anything else. */
export function fromRecord(text: string): IscsiDisk {
  const record = JSON.parse(text) as Readonly<Record<string, unknown>> | null;
  const { VolName, Portals, Iqn, Lun, InitIface, Iface, InitiatorName } = record ?? {};
  const isComplete =
    [VolName, Iqn, InitIface, Iface, InitiatorName].every((each) => typeof each === 'string') &&
    Array.isArray(Portals) &&
    Portals.length > 0 &&
    Portals.every((each) => typeof each === 'string') &&
    /^\d{1,5}$/.test(String(Lun));
  if (!isComplete) throw new Error('the record of an iSCSI disk is not complete');
  return {
    volumeName: VolName as string,
    portals: Portals as string[],
    iqn: Iqn as string,
    lun: Number(Lun),
    initialInterface: InitIface as string,
    interface: Iface as string,
    initiatorName: InitiatorName === '' ? undefined : (InitiatorName as string),
    discoveryChap: false,
    sessionChap: false,
  };
}
